// Package stagetext writes where the time of an operation went, for the command line and the console alike. Pure.
package stagetext

import (
	"fmt"
	"strings"
)

// Millis is how long each stage of an operation took, in ms.
type Millis struct {
	Queue, Prepare, Forward, Sync, Quorum, Apply, Socket float64
}

// String lists the stages that took time, in their order.
func (m Millis) String() string {
	var parts []string
	for _, stage := range []struct {
		name string
		ms   float64
	}{{"queue", m.Queue}, {"prepare", m.Prepare}, {"forward", m.Forward}, {"sync", m.Sync}, {"quorum", m.Quorum},
		{"apply", m.Apply}, {"socket", m.Socket}} {
		if stage.ms >= 0.05 {
			parts = append(parts, fmt.Sprintf("%s %.1f", stage.name, stage.ms))
		}
	}
	return strings.Join(parts, ", ")
}
