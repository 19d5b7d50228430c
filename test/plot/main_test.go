package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	const text = `{"targets":[{"rounds":[[{"name":"0 % reads","per_second":10000},{"name":"100 % reads","per_second":900000}],
		[{"name":"0 % reads","per_second":20000}]]},{"rounds":[[{"name":"0 % reads","per_second":5000}]]}]}`
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	var out bytes.Buffer
	require.NoError(t, run([]string{"3=" + file}, &out))
	require.Contains(t, out.String(), ">3 servers<")
	require.Contains(t, out.String(), ">3 servers, ZooKeeper 3.8<")
	require.Contains(t, out.String(), "stroke-dasharray")
	for d := xml.NewDecoder(&out); ; {
		if _, err := d.Token(); err != nil {
			require.True(t, errors.Is(err, io.EOF), err)
			break
		}
	}
	lines, err := curves("3", []byte(text))
	require.NoError(t, err)
	require.Equal(t, [][2]float64{{0, 15000}, {100, 900000}}, lines[0].points)
}

func TestPlotRefusesNonsense(t *testing.T) {
	var out bytes.Buffer
	require.Error(t, run(nil, &out))
	require.Error(t, run([]string{"nothing"}, &out))
	require.Error(t, run([]string{"3=/nowhere"}, &out))
	_, err := curves("3", []byte(`{"targets":[{"rounds":[[{"name":"get"}]]}]}`))
	require.Error(t, err)
}
