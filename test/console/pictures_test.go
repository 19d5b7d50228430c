package console

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

var pictures = flag.String("pictures", "",
	"folder for the pictures that the documents show; none are written without it")

// pictureMax is how many bytes a picture of the documents has.
const pictureMax = 160_000

// living starts an ensemble with clients, locks and a load, and opens the console of its leader.
func living(t *testing.T) (j *journey, stop func()) {
	staging, trial := start(t, 3), start(t, 1)
	staging.Kill(3)
	others := []string{"staging=http://" + staging.Server(1).AdminAddr().String(),
		"trial=http://" + trial.Server(1).AdminAddr().String()}
	j = visit(t, screen{1200, "light"}, 3, told(t, new([]int)), audited,
		func(c *config.Config) {
			c.Admin.Top, c.Trace.Slow, c.Admin.ConsoleName = true, 20*time.Millisecond, "production"
			c.Admin.ConsoleEnsembles = others
			c.Admin.ConsoleBackups = []string{"/backup/hourly"}
			c.Admin.RateLimiterInterval = time.Millisecond // the backups have just taken snapshots
		})
	for id := 1; id <= 3; id++ {
		j.ensemble.Disk(id).SetCapacity(int64(40+2*id) << 30)
	}
	leader := must.Do(j.ensemble.Leader(t.Context()))(t)
	worker := must.Do(client.Dial(t.Context(), j.ensemble.Addr(leader)))(t)
	t.Cleanup(func() { _ = worker.Close() })
	j.base = "http://" + j.ensemble.Server(leader).AdminAddr().String() + "/console/"
	for _, path := range []string{"/brokers", "/brokers/ids", "/brokers/topics", "/config", "/config/topics", "/locks",
		"/services", "/services/orders", "/services/payments", "/services/search"} {
		j.create(path, "")
	}
	for i := range 3 {
		must.Do(worker.Create(t.Context(), fmt.Sprintf("/brokers/ids/%d", i),
			fmt.Appendf(nil, `{"host":"broker-%d","port":9092}`, i), client.Ephemeral))(t)
	}
	for _, topic := range []string{"clicks", "invoices", "orders", "shipments"} {
		j.create("/config/topics/"+topic,
			`{"version":1,"config":{"retention.ms":"604800000","cleanup.policy":"delete"}}`)
	}
	for _, config := range []string{`"retention.ms":"86400000"`,
		`"retention.ms":"86400000","cleanup.policy":"compact"`,
		`"retention.ms":"604800000","cleanup.policy":"compact"`,
		`"retention.ms":"604800000","cleanup.policy":"delete","max.message.bytes":"1048576"`} {
		j.setBehind("/config/topics/orders", `{"version":1,"config":{`+config+`}}`)
		if *pictures != "" {
			time.Sleep(time.Second) // so that they are not one point of the timeline
		}
	}
	for i, parent := range []string{"/tables", "/schemas", "/features", "/routes"} {
		j.create(parent, "")
		for k, name := range []string{"clicks", "invoices", "orders", "shipments", "users", "refunds"} {
			j.create(parent+"/"+name, schemaOf(name, 160*(k+2)/(i+1)))
		}
	}
	billing, shipping := j.holds("/locks/orders", "billing-7"), j.holdsAt(2, "/locks/stock", "shipping-2")
	j.waits(shipping, "/locks/orders", "shipping-2", 2)
	j.waits(billing, "/locks/stock", "billing-7", 2)
	j.waits(j.holdsAt(3, "/locks/nightly", "batch-1"), "/locks/stock", "batch-1", 3)
	must.Do(recipes.NewLatch(billing, "/services/orders-leader", "orders-1").Campaign(t.Context()))(t)
	require.NoError(t, j.ensemble.WaitEqual(t.Context()))
	for id := 1; id <= 3; id++ {
		b := must.Do(backup.Open(j.ensemble.Disk(id), "/backup/hourly"))(t)
		must.Do(b.AddRemote(t.Context(), backup.Remote{Authorization: "digest super:test",
			URL: "http://" + j.ensemble.Server(id).AdminAddr().String() + "/commands"}))(t)
	}
	j.show("")
	j.loginApp()
	stop = j.load(leader)
	j.awaitText("#verdict", "3 of 3 voters are up")
	j.slows(40 * time.Millisecond)
	if *pictures != "" {
		time.Sleep(100 * time.Second) // for the charts; nothing depends on it
	}
	return j, stop
}

// slows lets the disks of all servers be slow for moments, until a dozen slow operations are told.
func (j *journey) slows(long time.Duration) {
	j.t.Helper()
	for _, id := range j.ensemble.IDs() {
		disk := j.ensemble.Disk(id)
		disk.Hook(func(op vfs.Op) error {
			if n := time.Now().UnixMilli() / 50; op.Kind == vfs.OpSync && n%8 == 0 {
				time.Sleep(long + time.Duration(n%7)*long/4)
			}
			return nil
		})
		defer disk.Hook(nil)
	}
	j.show("slow")
	j.await("document.querySelectorAll('#slow tbody tr').length > 12")
	j.show("")
}

// schemaOf is data as long as that of a table with so many columns.
func schemaOf(name string, columns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"name":%q,"version":3,"columns":[`, name)
	for i := range columns {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"column_%d","type":"varchar","nullable":%t}`, i, i%3 == 0)
	}
	b.WriteString("]}")
	return b.String()
}

// view is a page of the console as a picture shows it.
type view struct {
	name, page  string
	shows, text string // a selector, and a text that is there when the page is complete
	step        func() // after that; may be nil
}

// TestPictures shows each view of an ensemble under a load as the documents do. With -pictures it writes the pictures:
// the one of the overview, which programs have with the pages, and below views those of the others.
func TestPictures(t *testing.T) {
	j, stop := living(t)
	defer stop()
	leader := j.toLeader()
	topic, worker := "%2Fconfig%2Ftopics%2Forders", "%2Fservices%2Forders%2Fworker-0"
	snapshot := func() {
		j.button(fmt.Sprintf("Snapshot server %d", leader%3+1))
		j.button("Dry run")
		j.button("Take snapshot")
		j.awaitText("#given tbody", "Done")
	}
	open := func(selector string) func() {
		return func() { j.run(fmt.Sprintf("document.querySelector(%q).click()", selector)) }
	}
	for _, v := range []view{
		{"overview", "", "#verdict", "3 of 3 voters are up", nil},
		{"server", fmt.Sprint("?server=", leader), "#overview", "Write latency by stage", nil},
		{"tree", "tree?path=" + topic, "#text", "retention.ms", nil},
		{"activity", "tree?tab=activity&path=" + worker, "#znode", "Writes in the log", func() {
			j.await("document.querySelectorAll('#activity canvas').length === 1")
			if *pictures != "" {
				time.Sleep(40 * time.Second) // for the chart; nothing depends on it
			}
		}},
		{"history", "tree?tab=history&path=" + topic, ".compared h2", "→", nil},
		{"palette", "tree?path=" + topic, "#text", "retention.ms", func() {
			open(".find")()
			j.enterText(".palette input", "cfgtoo")
			j.awaitText("#hits", "/config/topics/orders")
		}},
		{"search", "search?contains=orders", "#found", "found", nil},
		{"past", "past?at=0x100000020&path=%2F", "#past", "brokers", nil},
		{"difference", "difference?from=0x100000020", "#difference tbody", "Created", nil},
		{"live", "live", "main tbody", "worker-", nil},
		{"sessions", "sessions", "#sessions tbody", "s-", nil},
		{"recipes", "recipes", "#recipes", "2 sessions wait for each other", nil},
		{"session", "recipes", "#recipes", "2 sessions wait for each other", func() {
			open(".waits > a.in-cycle")()
			j.awaitText("#parts tbody", "Waits")
		}},
		{"recipe", "recipe?path=%2Flocks%2Fstock", "#recipe tbody", "Holds", func() {
			j.button("Read the log")
			j.awaitText("#terms tbody", "Now")
		}},
		{"top", "top", "[aria-label=Paths] tbody", "/config/topics/orders", nil},
		{"slow", "slow", "#slow tbody", "Sync", nil},
		{"sizes", "sizes", "#sizes", "counted", nil},
		{"servers", "servers", "#steering tbody", "Server 3", snapshot},
		{"configuration", "configuration?all=1", "table", "tickTime", nil},
		{"backups", "backups", "[aria-label='/backup/hourly']", "Complete", func() {
			j.button("Verify")
			j.awaitText("[aria-label='/backup/hourly']", "match their checksums")
		}},
		{"audit", "audit", "#audit tbody", "setData", nil},
		{"ensembles", "ensembles", "main", "staging", nil},
	} {
		j.dress(screen{1280, "light"})
		j.show(v.page)
		j.awaitText(v.shows, v.text)
		if v.step != nil {
			v.step()
		}
		j.picture(v.name)
		if *shots != "" {
			for _, s := range []screen{{390, "light"}, {768, "dark"}, {1440, "light"}, {1440, "dark"},
				{2560, "light"}} {
				j.dress(s)
				j.await(fmt.Sprintf("innerWidth === %d && !document.querySelector('.skeleton')", s.width))
				j.shoot(fmt.Sprint(v.name, "-", s.width, s.scheme))
			}
		}
		if v.name == "palette" {
			j.press(kb.Escape)
		}
	}
}

// filmMax is how many bytes the animation of the README has.
const filmMax = 1 << 20

// TestFilm shows, as the README does, what a visitor sees between a look at the ensemble and a reviewed change. With
// -pictures it writes the animation.
func TestFilm(t *testing.T) {
	j := visit(t, desk, 3, audited)
	j.toLeader()
	for _, path := range []string{"/brokers", "/config", "/config/topics", "/locks"} {
		j.create(path, "")
	}
	for _, topic := range []string{"clicks", "invoices", "orders", "shipments"} {
		j.create("/config/topics/"+topic, `{"version":1,"config":{"retention.ms":"604800000"}}`)
	}
	must.Do(recipes.NewMutex(j.client, "/locks/billing", recipes.WithData([]byte("worker-7"))).Lock(t.Context()))(t)
	j.show("")
	j.loginApp()
	j.do(chromedp.EmulateViewport(1120, 640))
	film := &gif.GIF{}
	j.awaitText("#verdict", "3 of 3 voters are up")
	j.await("!document.querySelector('.toast')")
	j.frame(film, 250)
	j.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
	j.await("document.activeElement.getAttribute('role') === 'combobox'")
	j.press("orders")
	j.awaitText("#hits", "/config/topics/orders")
	j.frame(film, 200)
	j.press(kb.Escape)
	j.show("tree?path=%2Fconfig%2Ftopics%2Forders")
	j.awaitText("#text", "604800000")
	j.frame(film, 200)
	j.button("Edit")
	j.typeInEditor(`{"version":2,"config":{"retention.ms":"86400000"}}`)
	j.frame(film, 200)
	j.button("Review and save")
	j.await("document.querySelector('dialog .editor').shadowRoot?.textContent.includes('86400000')")
	j.frame(film, 250)
	j.button("Save")
	j.awaitText("#text", "86400000")
	j.show("tree?path=%2Fconfig%2Ftopics%2Forders&tab=history")
	j.awaitText(".timeline", "Changed")
	j.frame(film, 200)
	j.show("recipes")
	j.awaitText("#recipes", "worker-7")
	j.frame(film, 250)
	j.show("audit")
	j.awaitText("#audit tbody", "/config/topics/orders")
	j.frame(film, 250)
	var text bytes.Buffer
	require.NoError(t, gif.EncodeAll(&text, film))
	require.Less(t, text.Len(), filmMax)
	if *pictures != "" {
		require.NoError(t, os.WriteFile(filepath.Join(*pictures, "console.gif"), text.Bytes(), 0o644))
	}
}

// frame adds what the tab shows to an animation, for so many hundredths of a second.
func (j *journey) frame(film *gif.GIF, hundredths int) {
	j.t.Helper()
	j.await("document.fonts.status === 'loaded' && !document.querySelector('.skeleton')")
	film.Image = append(film.Image, reduce(j.screenshot(), 44, 64))
	film.Delay = append(film.Delay, hundredths)
}

// load reads and writes at all servers, most at one of them, until stop is called.
func (j *journey) load(most int) (stop func()) {
	j.t.Helper()
	ctx, cancel := context.WithCancel(j.t.Context())
	var ended sync.WaitGroup
	services := strings.Fields("orders orders orders orders payments payments payments search search")
	for i, service := range services {
		server := most
		if i%3 > 0 {
			server = (most+i%3-1)%3 + 1
		}
		c := must.Do(client.Dial(j.t.Context(), j.ensemble.Addr(server)))(j.t)
		path := fmt.Sprintf("/services/%s/worker-%d", service, i)
		must.Do(c.Create(j.t.Context(), path, nil, client.Ephemeral))(j.t)
		topic := []string{"orders", "orders", "clicks", "invoices"}[i%4]
		ended.Go(func() {
			defer func() { _ = c.Close() }()
			for n := 0; ctx.Err() == nil; n++ {
				_, _, _ = c.Get(ctx, "/config/topics/"+topic) // errors are of the end
				if n%8 == 0 {
					_, _ = c.Set(ctx, path, fmt.Appendf(nil, `{"beat":%d,"load":0.%d}`, n, 30+n/8%40), -1)
				}
				time.Sleep(time.Duration(6+i%3*8+n/64%5) * time.Millisecond)
			}
		})
	}
	return func() {
		cancel()
		ended.Wait()
	}
}

// picture writes a picture of the present page, if it is asked for: light and dark beside each other, and on a phone.
func (j *journey) picture(name string) {
	j.t.Helper()
	const width, phone, height, gap = 1280, 390, 800, 12
	whole := image.NewRGBA(image.Rect(0, 0, width+gap+phone, height))
	draw.Draw(whole, whole.Bounds(), image.NewUniform(color.RGBA{0x8a, 0x91, 0x9e, 0xff}), image.Point{}, draw.Src)
	shot := func(s screen) image.Image {
		j.do(dress(s)...)
		j.do(chromedp.EmulateViewport(s.width, height))
		j.await("document.fonts.status === 'loaded' && !document.querySelector('.skeleton, .toast')")
		j.await(fmt.Sprintf("innerWidth === %d && document.documentElement.dataset.theme === %q", s.width, s.scheme))
		return j.screenshot()
	}
	light, dark, small := shot(screen{width, "light"}), shot(screen{width, "dark"}), shot(screen{phone, "dark"})
	for y := range height {
		edge := width/2 + (height/2-y)/4
		draw.Draw(whole, image.Rect(0, y, edge, y+1), light, image.Pt(0, y), draw.Src)
		draw.Draw(whole, image.Rect(edge, y, width, y+1), dark, image.Pt(edge, y), draw.Src)
	}
	draw.Draw(whole, image.Rect(width+gap, 0, width+gap+phone, height), small, image.Point{}, draw.Src)
	var packed bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(j.t, encoder.Encode(&packed, reduce(whole, 84, 112)))
	require.Less(j.t, packed.Len(), pictureMax)
	if *pictures == "" {
		return
	}
	file := filepath.Join(*pictures, "..", "views", name+".png")
	if name == "overview" {
		file = filepath.Join(*pictures, "console.png")
	}
	require.NoError(j.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(j.t, os.WriteFile(file, packed.Bytes(), 0o644))
}

// screenshot returns what the tab shows.
func (j *journey) screenshot() image.Image {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.tab, patience)
	defer cancel()
	shot := must.Do(chromedp.Run(ctx, chromedp.CaptureScreenshot()))(j.t)
	return must.Do(png.Decode(bytes.NewReader(shot)))(j.t)
}

// reduce returns a picture with few colours; each other colour becomes the one that is next to it. Most are the most
// frequent ones, the others those that are farthest from all that were chosen: dots, links and lines are small.
// Letters have soft edges, so that few colours need many shades.
func reduce(full image.Image, frequent, colours int) *image.Paletted {
	const least = 4 // pixels of a colour that is worth a place
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	b := full.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	byCount := slices.SortedFunc(maps.Keys(count),
		func(a, b color.RGBA) int { return cmp.Compare(count[b], count[a]) })
	palette, index := color.Palette{}, map[color.RGBA]uint8{}
	for _, c := range byCount[:min(len(byCount), frequent)] {
		palette = append(palette, c)
	}
	for len(palette) < min(len(byCount), colours) {
		far, farthest := 0, byCount[0]
		for _, c := range byCount {
			if count[c] < least {
				break
			}
			if d := distance(c, palette.Convert(c).(color.RGBA)); d > far {
				far, farthest = d, c
			}
		}
		if far == 0 {
			break
		}
		palette = append(palette, farthest)
	}
	for _, c := range byCount {
		index[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(b, palette)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			small.SetColorIndex(x, y, index[at(x, y)])
		}
	}
	return small
}

// distance is how different two colours are.
func distance(a, b color.RGBA) int {
	square := func(x, y uint8) int { return (int(x) - int(y)) * (int(x) - int(y)) }
	return square(a.R, b.R) + square(a.G, b.G) + square(a.B, b.B)
}
