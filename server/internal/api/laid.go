package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seed94657493/warren/server/internal/formats"
)

// Bounds of the data that is laid out for a reader.
const (
	textShown   = 64 << 10 // bytes as text
	hexShown    = 4 << 10  // and as bytes
	unpackedMax = 1 << 20  // of what gzip or snappy stand for
	layoutBody  = 1 << 20  // of a request to lay out a text
)

// yamlMark begins a document.
const yamlMark = "---\n"

// Laid is the data of a znode in one format, for a reader.
type Laid struct {
	Path    string   `json:"path" doc:"of the znode"`
	Mzxid   string   `json:"mzxid" doc:"of the txn that has set the data"`
	Format  string   `json:"format" doc:"json, yaml, xml, text or hex: the one that was asked for, or that fits best"`
	Formats []string `json:"formats" doc:"that can be asked for"`
	Packing string   `json:"packing" doc:"gzip or snappy, which were opened; empty for neither"`
	Packed  bool     `json:"packed" doc:"the packed bytes are shown"`
	Text    string   `json:"text" doc:"the data in that format"`
	Cut     bool     `json:"cut" doc:"text is not all of the data"`
	Trouble string   `json:"trouble" doc:"why the format was not possible; empty for nothing"`
	Size    int      `json:"size" doc:"bytes of the data when it is unpacked"`
}

// Layout is a text, and the same text laid out.
type Layout struct {
	Text string `json:"text" doc:"all of it"`
	As   string `json:"as" doc:"json, yaml or xml"`
}

// Lay lays data out: in the format that is asked for, or in the one that fits it best. Data that is packed is opened,
// unless its bytes are asked for with the word packed. whole tells that data is all of it.
func Lay(data []byte, whole bool, asked string) Laid {
	v := Laid{Cut: !whole}
	if whole {
		plain, how, cut, err := formats.Unpack(data, unpackedMax)
		switch {
		case err != nil:
			v.Trouble = "It begins like " + string(how) + ", but cannot be opened."
		case how == formats.Plain:
			data = plain
		case asked == "packed":
			v.Packing, v.Packed, asked = string(how), true, string(formats.Hex)
		default:
			v.Packing, data, v.Cut = string(how), plain, cut
		}
	}
	v.Size = len(data)
	for _, one := range formats.All {
		v.Formats = append(v.Formats, string(one))
	}
	format := formats.Format(asked)
	if !slices.Contains(v.Formats, asked) {
		format = formats.Detect(data)
	}
	v.Format = string(format)
	shown := data
	if format == formats.Hex && len(data) > hexShown {
		shown, v.Cut = data[:hexShown], true
	}
	text, err := formats.Lay(shown, format)
	if err != nil && v.Trouble == "" {
		v.Trouble = fmt.Sprintf("Shown as text: %s.", err)
	}
	if format != formats.Hex && len(text) > textShown {
		text, v.Cut = strings.ToValidUTF8(text[:textShown], ""), true
	}
	v.Text = text
	return v
}

// laidTable is the routes of Laid and Layout, and that which hashes passwords for ACLs.
func laidTable() []*route {
	return []*route{
		{name: "laid", about: "The data of a znode, unpacked and laid out for a reader.",
			params: []param{pathParam,
				{name: "as", about: "json, yaml, xml, text or hex; packed for the bytes as they are stored"}},
			gives: Laid{}, serve: reads(laid)},
		{method: "POST", path: "/laid", name: "layOut", takes: Layout{}, gives: Layout{}, changes: true,
			about: "The same text laid out, for an editor. No znode is read or changed.", serve: (*API).layOut},
		{method: "POST", name: "digest", takes: Credentials{}, gives: ACL{}, changes: true,
			about: "The entry of an ACL for a user of scheme digest, as this server hashes its password.",
			serve: (*API).digest},
	}
}

func laid(q *query) func(Server) (*Laid, error) {
	path, as := q.path(), q.text("as", "")
	return func(s Server) (*Laid, error) {
		z, err := s.Znode(q.Actor, path, DataMax)
		if err != nil {
			return nil, err
		}
		l := Lay(z.Raw, z.Whole, as)
		l.Path, l.Mzxid = path, z.Stat.Mzxid
		return &l, nil
	}
}

func (a *API) layOut(w http.ResponseWriter, r *http.Request, _ *Visitor) error {
	var l Layout
	if err := a.body(w, r, &l, layoutBody); err != nil {
		return err
	}
	if f := formats.Format(l.As); f != formats.JSON && f != formats.YAML && f != formats.XML {
		return refusal(http.StatusBadRequest, "a text is laid out as json, yaml or xml")
	}
	return ask(a.workers, w, r, func() (Layout, error) {
		text, err := formats.Lay([]byte(l.Text), formats.Format(l.As))
		if err != nil {
			return Layout{}, refusal(http.StatusBadRequest, err.Error())
		}
		if strings.HasPrefix(l.Text, yamlMark) && l.As == string(formats.YAML) {
			text = yamlMark + text // by it the text is recognized
		}
		return Layout{text, l.As}, nil
	})
}

func (a *API) digest(w http.ResponseWriter, r *http.Request, _ *Visitor) error {
	var c Credentials
	if err := a.body(w, r, &c, CredentialsBody); err != nil {
		return err
	}
	if c.User == "" || c.Password == "" || strings.Contains(c.User, ":") ||
		len(c.User)+len(c.Password) > credentialsMax {
		return refusal(http.StatusBadRequest, "a user without a colon and a password are needed")
	}
	id, err := a.o.Server.DigestID(c.User, c.Password)
	if err != nil {
		return err
	}
	return answer(w, ACL{Scheme: "digest", ID: id, Perms: "r"})
}
