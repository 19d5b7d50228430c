package api

// The records of requests and answers. The tag doc is the description in openapi.json. Zxids and the ids of sessions
// are text, because numbers of JavaScript do not hold 64 bits. Times are ms since 1970.

// Ensemble is a server and what it knows of its ensemble.
type Ensemble struct {
	ServerID    int64     `json:"serverId" doc:"myid of the server that answers; 0 if it stands alone"`
	State       string    `json:"state" doc:"standalone, leader, follower, observer, looking or read-only"`
	Serving     bool      `json:"serving" doc:"clients are served now"`
	Version     string    `json:"version" doc:"of the program"`
	UptimeMs    int64     `json:"uptimeMs" doc:"since the process began"`
	Leader      *int64    `json:"leader" doc:"myid of the leader; null without one, and on a server that stands alone"`
	Zxid        string    `json:"zxid" doc:"last txn that this server has applied, hexadecimal"`
	Epoch       int64     `json:"epoch" doc:"upper half of the zxid"`
	Znodes      int       `json:"znodes" doc:"number of znodes"`
	Ephemerals  int       `json:"ephemerals" doc:"number of ephemeral znodes"`
	DataBytes   int64     `json:"dataBytes" doc:"bytes of paths and data"`
	Watches     int       `json:"watches" doc:"watches at this server"`
	Sessions    int       `json:"sessions" doc:"sessions of the ensemble"`
	Connections int       `json:"connections" doc:"connections to this server"`
	Outstanding int64     `json:"outstanding" doc:"requests that this server has received and not answered"`
	Latency     Latency   `json:"latency" doc:"of the requests of the last minutes at this server"`
	Members     []Member  `json:"members" doc:"servers of the configuration; empty if the server stands alone"`
	Problems    []Problem `json:"problems" doc:"what is wrong, as far as this server knows, the most urgent first"`
	Writes      bool      `json:"writes" doc:"changes are switched on by warren.console.writes"`
}

// Latency is in ms.
type Latency struct {
	Min  int64   `json:"min" doc:"ms"`
	Mean float64 `json:"mean" doc:"ms"`
	Max  int64   `json:"max" doc:"ms"`
}

// Member is one server of the configuration.
type Member struct {
	ID            int64    `json:"id" doc:"myid"`
	Role          string   `json:"role" doc:"participant or observer, by the configuration"`
	State         string   `json:"state" doc:"leader, follower, observer, joining, absent, or unknown: a leader alone knows the others"`
	Self          bool     `json:"self" doc:"it is the server that answers"`
	Addresses     []string `json:"addresses" doc:"between servers, host:port"`
	ClientAddress string   `json:"clientAddress" doc:"for clients, host:port; empty if the configuration does not tell it"`
	Zxid          string   `json:"zxid" doc:"last txn known to be there, hexadecimal; empty if it is not known"`
	Lag           *int64   `json:"lag" doc:"txns behind the server that answers; null if it is not known"`
}

// Problem is something that an operator should know.
type Problem struct {
	Severity string `json:"severity" doc:"notice, warning, error or critical"`
	Check    string `json:"check" doc:"name of the finding, as warren doctor has it"`
	Text     string `json:"text" doc:"what is wrong with the server that answers, or with its ensemble"`
	Remedy   string `json:"remedy" doc:"what helps; may be empty"`
}

// Stat is the state of a znode beside its data.
type Stat struct {
	Czxid       string `json:"czxid" doc:"txn that created it"`
	Mzxid       string `json:"mzxid" doc:"txn that last set its data"`
	Pzxid       string `json:"pzxid" doc:"txn that last created or deleted a child"`
	Created     int64  `json:"created" doc:"ms since 1970"`
	Modified    int64  `json:"modified" doc:"ms since 1970"`
	Version     int32  `json:"version" doc:"number of changes of the data"`
	Cversion    int32  `json:"cversion" doc:"number of changes of the children"`
	Aversion    int32  `json:"aversion" doc:"number of changes of the ACL"`
	Owner       string `json:"owner" doc:"session of an ephemeral znode, as in sessions; empty for others"`
	DataLength  int32  `json:"dataLength" doc:"bytes"`
	NumChildren int32  `json:"numChildren" doc:"number of children"`
}

// ACL is one entry of an ACL.
type ACL struct {
	Scheme string `json:"scheme" doc:"world, auth, digest, ip, sasl or x509"`
	ID     string `json:"id" doc:"identity within the scheme; a hash is shown to visitors with the permission admin only"`
	Perms  string `json:"perms" doc:"letters of create, delete, read, write, admin: cdrwa"`
}

// Znode is a znode with its data.
type Znode struct {
	Path     string  `json:"path" doc:"of the znode"`
	Stat     Stat    `json:"stat" doc:"its state"`
	ACL      []ACL   `json:"acl" doc:"its ACL"`
	Encoding string  `json:"encoding" doc:"utf-8 or base64: how data is written here"`
	Data     *string `json:"data" doc:"its data, or the beginning of it; null if it has none"`
	Whole    bool    `json:"whole" doc:"data is all of it"`
	Raw      []byte  `json:"-"`
}

// Children is a page of children.
type Children struct {
	Path     string  `json:"path" doc:"of the parent"`
	Total    int32   `json:"total" doc:"number of children"`
	Order    string  `json:"order" doc:"name, or creation if there are 2048 children or more"`
	Children []Child `json:"children" doc:"this page"`
	After    string  `json:"after" doc:"parameter after of the next page; empty if this is the last one"`
}

// Child is a child of a znode. Without the permission to read it, only its name is known.
type Child struct {
	Name     string `json:"name" doc:"last part of the path"`
	Readable bool   `json:"readable" doc:"the visitor may read it; if not, the other fields are empty"`
	Children int32  `json:"children" doc:"number of children"`
	Bytes    int32  `json:"bytes" doc:"length of its data"`
	Modified int64  `json:"modified" doc:"ms since 1970"`
	Version  int32  `json:"version" doc:"number of changes of the data"`
	Owner    string `json:"owner" doc:"session of an ephemeral znode; empty for others"`
}

// Found is the outcome of a search.
type Found struct {
	Paths   []string `json:"paths" doc:"of the znodes found"`
	Visited int      `json:"visited" doc:"znodes that were looked at"`
	After   string   `json:"after" doc:"parameter after that goes on from here; empty if the search is over"`
	Missed  bool     `json:"missed" doc:"the tree has changed between two steps, so that znodes may have been missed"`
}

// Sessions is a page of the sessions of this server.
type Sessions struct {
	Total    int       `json:"total" doc:"sessions of the ensemble"`
	Sessions []Session `json:"sessions" doc:"of clients that are connected to this server, the oldest connection first"`
	After    uint64    `json:"after" doc:"parameter after of the next page; 0 if this is the last one"`
}

// Session is the session of a client that is connected to this server.
type Session struct {
	Label       string   `json:"label" doc:"the id of the session if warren.sessionSecrets makes ids harmless; else a name for it that opens nothing"`
	Address     string   `json:"address" doc:"of the client, host:port"`
	Connected   int64    `json:"connected" doc:"ms since 1970"`
	TimeoutMs   int32    `json:"timeoutMs" doc:"of the session"`
	Secure      bool     `json:"secure" doc:"the client has connected to the port for TLS"`
	Received    int64    `json:"received" doc:"packets from the client"`
	Sent        int64    `json:"sent" doc:"packets to the client"`
	Outstanding int      `json:"outstanding" doc:"requests that wait"`
	LastOp      string   `json:"lastOp" doc:"last operation that was answered"`
	MeanMs      int64    `json:"meanMs" doc:"mean latency"`
	MaxMs       int64    `json:"maxMs" doc:"greatest latency"`
	Watches     int      `json:"watches" doc:"paths that it watches"`
	Ephemerals  int      `json:"ephemerals" doc:"number of its ephemeral znodes"`
	Paths       []string `json:"paths" doc:"of up to 100 ephemeral znodes that the visitor could find by reading"`
}

// Top is what causes most of the requests, bytes and time of this server.
type Top struct {
	Enabled       bool       `json:"enabled" doc:"by warren.top.enabled"`
	Everything    bool       `json:"everything" doc:"the visitor has the permissions for a snapshot, and sees paths, sessions and addresses"`
	By            string     `json:"by" doc:"the order: requests, bytes or time"`
	WindowSeconds int        `json:"windowSeconds" doc:"requests count less by the factor e in each window"`
	OneIn         int64      `json:"oneIn" doc:"one request of so many is recorded, and counts for all"`
	Total         TopSums    `json:"total" doc:"of all requests"`
	Operations    []TopEntry `json:"operations" doc:"names of operations"`
	Paths         []TopEntry `json:"paths" doc:"paths of znodes; of longer ones the first 512 bytes"`
	Sessions      []TopEntry `json:"sessions" doc:"labels as in the record Session"`
	Addresses     []TopEntry `json:"addresses" doc:"of clients, without port"`
}

// TopSums is what requests cost in each second.
type TopSums struct {
	Requests float64 `json:"requests" doc:"a second"`
	Bytes    float64 `json:"bytes" doc:"a second, of requests and replies"`
	Millis   float64 `json:"ms" doc:"a second: of reads their execution, of writes from their arrival until they are applied"`
}

// TopEntry is a key with what its requests cost in each second, as TopSums.
type TopEntry struct {
	Key      string  `json:"key" doc:"what the requests have in common"`
	Requests float64 `json:"requests" doc:"a second"`
	Bytes    float64 `json:"bytes" doc:"a second, of requests and replies"`
	Millis   float64 `json:"ms" doc:"a second"`
}

// Slow is the operations that took long.
type Slow struct {
	Everything  bool            `json:"everything" doc:"the visitor has the permissions for a snapshot, and sees paths, sessions and traces"`
	ThresholdMs float64         `json:"thresholdMs" doc:"warren.slow.threshold; 0: none are kept"`
	Found       int             `json:"found" doc:"slow operations since the server began; the newest 256 are kept"`
	Operations  []SlowOperation `json:"operations" doc:"the newest first"`
}

// SlowOperation is one operation that took long.
type SlowOperation struct {
	Began     int64       `json:"began" doc:"when its request was read from the socket, ms since 1970"`
	Operation string      `json:"operation" doc:"its name in the protocol"`
	Path      string      `json:"path" doc:"of the znode, of a longer one the first 256 bytes; of a multi the first"`
	Session   string      `json:"session" doc:"label as in the record Session"`
	Zxid      string      `json:"zxid" doc:"of its txn; empty if there is none"`
	Error     string      `json:"error" doc:"name of the error that it was answered with; empty if there is none"`
	Millis    float64     `json:"ms" doc:"until its reply was handed to the socket"`
	Slowest   string      `json:"slowest" doc:"name of the stage that took longest"`
	Stages    StageMillis `json:"stages" doc:"how long each stage took"`
	Trace     string      `json:"trace" doc:"id of its trace; empty without warren.trace.endpoint"`
}

// StageMillis is how long the stages of an operation took, in ms. Their sum is the whole time.
type StageMillis struct {
	Queue   float64 `json:"queue" doc:"until a turn has begun with it"`
	Prepare float64 `json:"prepare" doc:"at a leader: until log and learners had got its txn"`
	Forward float64 `json:"forward" doc:"at a learner: until its txn came from the leader"`
	Sync    float64 `json:"sync" doc:"until the log of this server had the txn"`
	Quorum  float64 `json:"quorum" doc:"until a quorum had it"`
	Apply   float64 `json:"apply" doc:"until it was applied; of a read its execution"`
	Socket  float64 `json:"socket" doc:"until the reply was handed to the socket"`
}

// Setting is one setting of the server.
type Setting struct {
	Name    string `json:"name" doc:"key of zoo.cfg"`
	Value   string `json:"value" doc:"in force now; *** for a secret"`
	Default string `json:"default" doc:"without a line in zoo.cfg; of durations in Go's form"`
	Origin  string `json:"origin" doc:"file and line, -D or environment variable; empty for the default"`
}

// Configuration is every setting.
type Configuration struct {
	Settings []Setting `json:"settings" doc:"sorted by name"`
}

// Happening is a change of a znode, as told by changes.
type Happening struct {
	Type string `json:"type" doc:"created, deleted, changed or children"`
	Path string `json:"path" doc:"of the znode"`
	Zxid string `json:"zxid" doc:"the txn, hexadecimal; empty if it is not known"`
	At   int64  `json:"at" doc:"when the server has told it, ms since 1970"`
}

// Credentials are the request of login.
type Credentials struct {
	User     string `json:"user" doc:"name of scheme digest, without a colon"`
	Password string `json:"password" doc:"its password"`
}

// Identity is what a visitor is known as.
type Identity struct {
	User   string `json:"user" doc:"empty without a login"`
	Super  bool   `json:"super" doc:"ACLs do not hold for this user"`
	Token  string `json:"token" doc:"header X-Warren-Token of requests that change something; empty without a cookie"`
	Writes bool   `json:"writes" doc:"this visitor may try changes; ACLs decide"`
}

// NewZnode is the request of create.
type NewZnode struct {
	Path       string `json:"path" doc:"of the new znode"`
	Data       string `json:"data" doc:"its data"`
	Encoding   string `json:"encoding" doc:"utf-8 (also if empty) or base64"`
	ACL        []ACL  `json:"acl" doc:"null: world:anyone:cdrwa"`
	Sequential bool   `json:"sequential" doc:"a number is added to the name"`
	Container  bool   `json:"container" doc:"the server deletes it some time after its last child"`
	TTL        int64  `json:"ttl" doc:"ms without a change and without children after which the server deletes it; 0 for none"`
}

// NewData is the request that sets the data of a znode.
type NewData struct {
	Path     string `json:"path" doc:"of the znode"`
	Data     string `json:"data" doc:"new data"`
	Encoding string `json:"encoding" doc:"utf-8 (also if empty) or base64"`
	Version  *int32 `json:"version" doc:"that the znode must have; -1 for any"`
}

// NewACL is the request that sets the ACL of a znode.
type NewACL struct {
	Path      string `json:"path" doc:"of the znode"`
	ACL       []ACL  `json:"acl" doc:"new list, at least one entry"`
	Version   *int32 `json:"version" doc:"aversion that the znode must have; -1 for any"`
	KeepAdmin bool   `json:"keepAdmin" doc:"refuse what would leave this visitor without the permission admin"`
}

// Done is the answer to a change.
type Done struct {
	Path string `json:"path" doc:"of the znode"`
}

// Problems are told by RFC 9457.

// Trouble is the answer to a request that was not done.
type Trouble struct {
	Type   string `json:"type" doc:"about:blank"`
	Title  string `json:"title" doc:"of the HTTP status"`
	Status int    `json:"status" doc:"HTTP status"`
	Detail string `json:"detail" doc:"what is wrong with this request"`
	Code   string `json:"code" doc:"name of ZooKeeper's error if there is one, such as NoAuth"`
}
