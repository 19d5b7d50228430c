package recipes

import (
	"context"
	"errors"
	"iter"

	"github.com/seed94657493/warren/client"
)

// SharedValue is a value in bytes that all clients see and may change: the data of one znode.
//
//	/path    persistent; its data is the value, its version counts the changes
//
// Guarantee: changes are atomic and happen one after the other; TrySet and Update overwrite no unseen change. If
// the connection is lost during a change, its error satisfies client.MayHaveApplied, and only the caller can
// decide how to go on. The result of Get may be old when it arrives. The guarantee fails if a client deletes the
// znode and creates it again: versions start at 0 then, and an older Value may match. The layout is that of
// Curator's SharedValue. A SharedValue has no state and may be used concurrently. Source: operations 9.2.
type SharedValue struct{ cell }

// NewSharedValue returns the value at a path.
func NewSharedValue(c *client.Client, path string, options ...Option) *SharedValue {
	return &SharedValue{cell{c, path, newOptions(options)}}
}

// Value is a shared value at one moment.
type Value struct {
	Data    []byte
	Version int32       // counts the changes since the znode was made
	Zxid    client.Zxid // of the change that made this value; grows with every change
	Exists  bool        // false before the first change
}

func valueOf(now client.Node) Value {
	return Value{now.Data, now.Stat.Version, now.Stat.Mzxid, now.Exists}
}

// Get returns the value. A value that was never set does not exist.
func (v *SharedValue) Get(ctx context.Context) (Value, error) {
	now, err := v.read(ctx)
	return valueOf(now), err
}

// Set replaces any value. It may repeat the write after a lost connection, so another change in between may be
// lost.
func (v *SharedValue) Set(ctx context.Context, data []byte) (Value, error) {
	stat, err := v.put(ctx, data)
	return changed(data, stat, err)
}

// Seed sets the value if there is none, and returns the current value.
func (v *SharedValue) Seed(ctx context.Context, data []byte) (Value, error) {
	err := again(ctx, func(ctx context.Context) error {
		_, _, err := v.TrySet(ctx, Value{}, data)
		return err
	})
	if err != nil {
		return Value{}, err
	}
	return v.Get(ctx)
}

// TrySet replaces the value if it is still the seen one, and reports whether it was. It returns the new value, or else
// the current one.
func (v *SharedValue) TrySet(ctx context.Context, seen Value, data []byte) (now Value, isSet bool, err error) {
	stat, err := v.change(ctx, func(old client.Node) ([]byte, error) {
		if now = valueOf(old); now.Exists != seen.Exists || now.Version != seen.Version {
			return nil, errStop
		}
		return data, nil
	})
	if errors.Is(err, errStop) {
		return now, false, nil
	}
	now, err = changed(data, stat, err)
	return now, err == nil, err
}

// Update replaces the value with the result of f. If another client is faster, f is called again, with the current
// value. An error of f ends Update.
func (v *SharedValue) Update(ctx context.Context, f func(old Value) ([]byte, error)) (Value, error) {
	var data []byte
	stat, err := v.change(ctx, func(old client.Node) (_ []byte, err error) {
		data, err = f(valueOf(old))
		return data, err
	})
	return changed(data, stat, err)
}

// changed returns the value after a change.
func changed(data []byte, stat client.Stat, err error) (Value, error) {
	if err != nil {
		return Value{}, err
	}
	return valueOf(client.Node{Data: data, Stat: stat, Exists: true}), nil
}

// Follow ranges over the values: the current one, then every later one that it sees. It may skip values in quick
// succession, but never the last. It ends with an error, or without one when ctx ends.
func (v *SharedValue) Follow(ctx context.Context) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		for node, err := range v.c.Follow(ctx, v.path) {
			if !yield(valueOf(node), err) || err != nil {
				return
			}
		}
	}
}
