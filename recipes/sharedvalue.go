package recipes

import (
	"context"
	"errors"
	"iter"

	"github.com/seed94657493/warren/client"
)

// SharedValue is bytes that everybody sees and may change: the data of one znode.
//
//	/path    persistent; its data is the value, its version counts the changes
//
// Guarantee: changes are atomic and happen one after the other; TrySet and Update overwrite nothing unseen. If the connection is lost
// while a change is under way, its error satisfies client.MayHaveApplied, and only the caller can decide what to do about it. What
// Get returns may be old when it arrives. It breaks if somebody deletes the znode and makes it again: versions start at 0 then, and
// what was seen before may match. The layout is that of Curator's SharedValue. A SharedValue has no state and may be used
// concurrently. Source: operations 9.2.
type SharedValue struct{ cell }

// NewSharedValue returns the value at a path.
func NewSharedValue(c *client.Client, path string, options ...Option) *SharedValue {
	return &SharedValue{cell{c, path, newOptions(options)}}
}

// Value is a shared value at one moment.
type Value struct {
	Data    []byte
	Version int32       // counts the changes since the znode was made
	Zxid    client.Zxid // of the change that made it so; grows with every change
	Exists  bool        // false before the first change
}

func valueOf(now content) Value {
	return Value{now.data, now.stat.Version, now.stat.Mzxid, now.exists}
}

// Get returns the value. One that was never set does not exist.
func (v *SharedValue) Get(ctx context.Context) (Value, error) {
	now, err := v.read(ctx)
	return valueOf(now), err
}

// Set replaces the value, whatever it is. It may be repeated after a lost connection, so another change in between may be lost.
func (v *SharedValue) Set(ctx context.Context, data []byte) (Value, error) {
	stat, err := v.put(ctx, data)
	return changed(data, stat, err)
}

// Seed sets the value if there is none, and returns the value that there is then.
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

// errChanged stops a TrySet.
var errChanged = errors.New("recipes: value has changed")

// TrySet replaces the value if it is still the one that was seen, and reports whether it was. It returns the new value, or the one
// that it was found to be.
func (v *SharedValue) TrySet(ctx context.Context, seen Value, data []byte) (now Value, isSet bool, err error) {
	stat, err := v.change(ctx, func(old content) ([]byte, error) {
		if now = valueOf(old); now.Exists != seen.Exists || now.Version != seen.Version {
			return nil, errChanged
		}
		return data, nil
	})
	if errors.Is(err, errChanged) {
		return now, false, nil
	}
	now, err = changed(data, stat, err)
	return now, err == nil, err
}

// Update replaces the value by what f makes of it. If somebody else is faster f is called again, with what it is now. An error of f ends it.
func (v *SharedValue) Update(ctx context.Context, f func(old Value) ([]byte, error)) (Value, error) {
	var data []byte
	stat, err := v.change(ctx, func(old content) (_ []byte, err error) {
		data, err = f(valueOf(old))
		return data, err
	})
	return changed(data, stat, err)
}

// changed is the value after a change.
func changed(data []byte, stat client.Stat, err error) (Value, error) {
	if err != nil {
		return Value{}, err
	}
	return valueOf(content{data, stat, true}), nil
}

// Follow ranges over the values: the current one, then every later one that is seen. Values that follow each other quickly may be left
// out, the last never is. It ends with an error, or silently when ctx ends.
func (v *SharedValue) Follow(ctx context.Context) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		for node, err := range v.c.Follow(ctx, v.path) {
			if !yield(valueOf(content{node.Data, node.Stat, node.Exists}), err) || err != nil {
				return
			}
		}
	}
}
