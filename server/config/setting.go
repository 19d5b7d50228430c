package config

// kind says how ZooKeeper reads a key. It decides which source takes precedence when a key is given twice.
type kind uint8

const (
	native      kind = iota // parsed by zoo.cfg itself: the command line wins over the file
	passthrough             // becomes the property zookeeper.KEY: the file wins over the command line, with a warning
	// A property without prefix, which ZooKeeper takes from the command line only: the command line wins.
	bare
)

// setting binds a key to the Config field it sets.
type setting struct {
	keys []string // the name and its other spellings, without the prefix "zookeeper."; the first that is given counts
	kind kind
	parser
	secret bool // the value is not shown in problems
}

// parser reads the value of one field and knows its default and its bounds.
type parser struct {
	// reset sets the field to its default; nil if there is no field.
	reset func()
	// parse sets the field, or leaves it alone and returns the rule that text breaks. A warning comes with a set
	// field.
	parse func(text string) (warning string, err error)
	// inFile returns the warning that text earns in a line of a file only; nil if there is none.
	inFile func(text string) (warning string)
	// check returns the rule that the present value of the field breaks; nil if every value is allowed.
	check func() error
	// show returns the present value of the field as text; nil if there is no field.
	show func() string
}

func (s setting) name() string { return s.keys[0] }

func nativeKey(p parser, keys ...string) setting { return setting{keys: keys, kind: native, parser: p} }
func propertyKey(p parser, keys ...string) setting {
	return setting{keys: keys, kind: passthrough, parser: p}
}
func strictKey(field *bool, def bool, key string) setting {
	return nativeKey(strict(field, def), key)
}
func bareKey(p parser, keys ...string) setting { return setting{keys: keys, kind: bare, parser: p} }

func secretKey(p parser, key string) setting {
	return setting{keys: []string{key}, kind: passthrough, parser: p, secret: true}
}

// settings returns every key that sets one field, bound to the fields of c. Keys with a free part, like server.N,
// are families.
func (c *Config) settings() []setting {
	var all []setting
	for _, area := range [][]setting{
		c.Storage.settings(), c.Sessions.settings(), c.Clients.settings(), c.Limits.settings(), c.Quorum.settings(),
		c.Security.settings(), c.Admin.settings(), c.Metrics.settings(), c.Audit.settings(), c.Log.settings(),
		c.Trace.settings(), c.Process.settings(),
	} {
		all = append(all, area...)
	}
	return all
}
