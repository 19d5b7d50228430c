package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

const folder = "../../docs/pictures"

// TestPictures draws every picture again: what the documents show is what the texts say.
func TestPictures(t *testing.T) {
	texts, err := textsOf(folder)
	require.NoError(t, err)
	require.NotEmpty(t, texts)
	for _, name := range texts {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		drawn := must.ReadFile(t, pictureOf(name))
		require.Equal(t, string(draw(name, text)), string(drawn), "%s: run go run ./test/pictures docs/pictures", name)
		d := xml.NewDecoder(strings.NewReader(string(drawn)))
		for err == nil {
			_, err = d.Token()
		}
		require.True(t, errors.Is(err, io.EOF), "%s: %v", name, err)
	}
	require.Len(t, must.Glob(t, filepath.Join(folder, "*.svg")), len(texts), "each picture has a text")
}

func TestNoFolder(t *testing.T) { require.Error(t, run(nil)) }
