package console

import (
	"fmt"
	"slices"
	"strings"

	g "maragu.dev/gomponents"

	h "github.com/seed94657493/warren/server/internal/console/html"
	"github.com/seed94657493/warren/server/internal/formats"
)

// Bounds of the data that a page shows.
const (
	textShown   = 64 << 10 // bytes as text
	hexShown    = 4 << 10  // and as bytes
	unpackedMax = 1 << 20  // of what gzip or snappy stand for
)

// dataView is the data of a znode in one format.
type dataView struct {
	format  formats.Format
	packing formats.Packing
	raw     bool   // the data is packed and shown as it is
	text    string // the data in that format
	cut     bool   // text is not all of the data
	trouble string // why the format was not possible; "" for nothing
	size    int    // bytes of the data when it is unpacked
}

// viewOf lays data out: in the format that was asked for, or in the one that fits it best. Data that is packed is
// opened, unless its bytes are asked for with the word packed.
func viewOf(data []byte, whole bool, asked string) dataView {
	v := dataView{packing: formats.Plain, cut: !whole}
	if whole {
		plain, how, cut, err := formats.Unpack(data, unpackedMax)
		switch v.packing = how; {
		case err != nil:
			v.trouble, v.packing = "It begins like "+string(how)+", but cannot be opened.", formats.Plain
		case asked == "packed":
			v.raw, asked = true, string(formats.Hex)
		default:
			data, v.cut = plain, cut
		}
	}
	v.size = len(data)
	v.format = formats.Format(asked)
	if !slices.ContainsFunc(formats.All, func(one struct {
		Format formats.Format
		Title  string
	}) bool {
		return one.Format == v.format
	}) {
		v.format = formats.Detect(data)
	}
	shown := data
	if v.format == formats.Hex && len(data) > hexShown {
		shown, v.cut = data[:hexShown], true
	}
	text, err := formats.Lay(shown, v.format)
	if err != nil && v.trouble == "" {
		v.trouble = fmt.Sprintf("Shown as text: %s.", err)
	}
	if v.format != formats.Hex && len(text) > textShown {
		text, v.cut = strings.ToValidUTF8(text[:textShown], ""), true
	}
	v.text = text
	return v
}

func dataPart(p *treePage) g.Node {
	if len(p.znode.Raw) == 0 {
		return section("data", "Data", h.P(h.Text("It has no data.")))
	}
	v := &p.dataView
	tab := func(view, title string, isThis bool) g.Node {
		return h.A(h.Href(to("tree", "path", p.path, "view", view)), g.If(isThis, h.Aria("current", "true")),
			h.Text(title))
	}
	var tabs g.Group
	for _, one := range formats.All {
		tabs = append(tabs, tab(string(one.Format), one.Title, !v.raw && v.format == one.Format))
	}
	if v.packing != formats.Plain {
		tabs = append(tabs, tab("packed", "Packed bytes", v.raw))
	}
	return section("data", "Data", h.P(h.Class("tools"), h.Role("group"), h.Aria("label", "View"), tabs,
		h.A(h.Href(to("data", "path", p.path)), h.Attr("download"), h.Text("Download"))),
		g.If(v.packing != formats.Plain, hint(fmt.Sprintf("Compressed by %s: %s, %s%s when it is unpacked.", v.packing,
			sizeOf(int64(len(p.znode.Raw))), map[bool]string{true: "more than "}[v.cut && !v.raw],
			sizeOf(int64(v.size))))),
		g.If(v.trouble != "", hint(v.trouble)),
		textPart("text", v.text),
		g.If(v.cut, hint("This is the beginning. Download it to see all.")))
}

// textPart shows a text that can be scrolled by keys. A browser drops the first line end.
func textPart(id, text string) g.Node {
	return h.Pre(h.ID(id), h.TabIndex("0"), h.Role("region"), h.Aria("label", "Data"), h.Text("\n"+text))
}
