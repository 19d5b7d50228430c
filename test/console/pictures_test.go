package console

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
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
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/server/config"
)

var pictures = flag.String("pictures", "",
	"folder for the pictures that the documents show; none are written without it")

// pictureMax is how many bytes a picture of the documents has.
const pictureMax = 160_000

// living starts an ensemble with clients, locks and a load, and opens the console of its leader.
func living(t *testing.T) (j *journey, stop func()) {
	j = visit(t, screen{1200, "light"}, 3, told(t, new([]int)), audited,
		func(c *config.Config) { c.Admin.Top, c.Trace.Slow = true, 20*time.Millisecond })
	leader, err := j.ensemble.Leader(t.Context())
	require.NoError(t, err)
	worker, err := client.Dial(t.Context(), j.ensemble.Addr(leader))
	require.NoError(t, err)
	t.Cleanup(func() { _ = worker.Close() })
	j.base = "http://" + j.ensemble.Server(leader).AdminAddr().String() + "/console/"
	for _, path := range []string{"/brokers", "/brokers/ids", "/brokers/topics", "/config", "/config/topics", "/locks",
		"/services", "/services/orders", "/services/payments"} {
		j.create(path, "")
	}
	for i := range 3 {
		_, err := worker.Create(t.Context(), fmt.Sprintf("/brokers/ids/%d", i),
			fmt.Appendf(nil, `{"host":"broker-%d","port":9092}`, i), client.Ephemeral)
		require.NoError(t, err)
	}
	for _, topic := range []string{"clicks", "invoices", "orders", "shipments"} {
		j.create("/config/topics/"+topic,
			`{"version":1,"config":{"retention.ms":"604800000","cleanup.policy":"delete"}}`)
	}
	for i, parent := range []string{"/tables", "/schemas", "/features", "/routes"} {
		j.create(parent, "")
		for k, name := range []string{"clicks", "invoices", "orders", "shipments", "users", "refunds"} {
			j.create(parent+"/"+name, strings.Repeat("x", 9000*(k+2)/(i+1)))
		}
	}
	billing, shipping := j.holds("/locks/orders", "billing-7"), j.holdsAt(2, "/locks/stock", "shipping-2")
	j.waits(shipping, "/locks/orders", "shipping-2", 2)
	j.waits(billing, "/locks/stock", "billing-7", 2)
	j.waits(j.holdsAt(3, "/locks/nightly", "batch-1"), "/locks/stock", "batch-1", 3)
	_, err = recipes.NewLatch(billing, "/services/orders-leader", "orders-1").Campaign(t.Context())
	require.NoError(t, err)
	require.NoError(t, j.ensemble.WaitEqual(t.Context()))
	j.show("")
	j.loginApp()
	stop = j.load(leader)
	j.awaitText("#verdict", "3 of 3 voters are up")
	if *pictures != "" {
		time.Sleep(2 * time.Minute) // for the charts; nothing depends on it
	}
	return j, stop
}

// TestPictures shows an ensemble as the documents do. With -pictures it writes the pictures.
func TestPictures(t *testing.T) {
	j, stop := living(t)
	for _, scheme := range []string{"light", "dark"} {
		j.dress(screen{1440, scheme})
		j.show("")
		j.awaitText("#verdict", "3 of 3 voters are up")
		j.picture("console-overview-"+scheme, 1440, 1250)
		j.show("tree?path=%2Fconfig%2Ftopics%2Forders")
		j.awaitText("#text", "retention.ms")
		j.picture("console-tree-"+scheme, 1440, 700)
	}
	j.dress(desk)
	j.show("recipes")
	j.awaitText("#recipes", "2 sessions wait for each other")
	j.picture("console-locks-light", 1280, 760)
	j.show("sizes")
	j.awaitText("#sizes", "counted")
	j.picture("console-sizes-light", 1280, 760)
	j.dress(screen{1440, "dark"})
	j.show("top")
	j.awaitText("[aria-label=Paths] tbody", "/config/topics/orders")
	j.picture("console-top-dark", 1280, 760)
	j.show("servers")
	j.awaitText("#steering", "Newest snapshot")
	j.picture("console-servers-dark", 1280, 620)
	j.dress(telephone)
	j.show("sessions")
	j.awaitText("#sessions tbody", "s-")
	j.picture("console-sessions-phone", telephone.width, 844)
	j.show("tree?path=%2Fconfig%2Ftopics%2Forders")
	j.awaitText("#text", "retention.ms")
	j.picture("console-tree-phone", telephone.width, 844)
	j.show("")
	j.awaitText("#verdict", "3 of 3 voters are up")
	j.picture("console-overview-phone", telephone.width, 844)
	stop()
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
	_, err := recipes.NewMutex(j.client, "/locks/billing", recipes.WithData([]byte("worker-7"))).Lock(t.Context())
	require.NoError(t, err)
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
	j.awaitText("#znode tbody", "Changed")
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
	film.Image = append(film.Image, reduce(j.screenshot()))
	film.Delay = append(film.Delay, hundredths)
}

// load reads and writes at a server, a little, until stop is called.
func (j *journey) load(server int) (stop func()) {
	j.t.Helper()
	ctx, cancel := context.WithCancel(j.t.Context())
	var ended sync.WaitGroup
	for i := range 6 {
		c, err := client.Dial(j.t.Context(), j.ensemble.Addr(server))
		require.NoError(j.t, err)
		path := fmt.Sprintf("/services/orders/worker-%d", i)
		_, err = c.Create(j.t.Context(), path, nil, client.Ephemeral)
		require.NoError(j.t, err)
		ended.Go(func() {
			defer func() { _ = c.Close() }()
			for n := 0; ctx.Err() == nil; n++ {
				_, _, _ = c.Get(ctx, "/config/topics/orders") // errors are of the end
				if n%8 == 0 {
					_, _ = c.Set(ctx, path, fmt.Appendf(nil, "beat %d", n), -1)
				}
				time.Sleep(time.Duration(4+n/64%5) * time.Millisecond)
			}
		})
	}
	return func() {
		cancel()
		ended.Wait()
	}
}

// picture writes what the tab shows in a window of a size, if it is asked for.
func (j *journey) picture(name string, width, height int64) {
	j.t.Helper()
	j.do(chromedp.EmulateViewport(width, height))
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(j.t, encoder.Encode(&small, reduce(j.screenshot())))
	require.Less(j.t, small.Len(), pictureMax)
	if *pictures != "" {
		require.NoError(j.t, os.WriteFile(filepath.Join(*pictures, name+".png"), small.Bytes(), 0o644))
	}
}

// screenshot returns what the tab shows.
func (j *journey) screenshot() image.Image {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.tab, patience)
	defer cancel()
	shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(j.t, err)
	full, err := png.Decode(bytes.NewReader(shot))
	require.NoError(j.t, err)
	return full
}

// reduce returns a picture with its most frequent colours; each other colour becomes the one that is next to it.
func reduce(full image.Image) *image.Paletted {
	const colours = 64 // letters have soft edges, and few colours else
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
	for _, c := range byCount[:min(len(byCount), colours)] {
		palette = append(palette, c)
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
