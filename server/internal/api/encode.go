package api

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/seed94657493/warren/proto"
)

// encode sets Data and Encoding from Raw, which is nil for null.
func (z *Znode) encode() {
	z.Encoding = "utf-8"
	if z.Raw == nil {
		return
	}
	text := string(z.Raw)
	if !utf8.ValidString(text) {
		z.Encoding, text = "base64", base64.StdEncoding.EncodeToString(z.Raw)
	}
	z.Data = &text
}

// letters are the permissions in the order in which clients write them.
var letters = []struct {
	letter byte
	perm   int32
}{{'c', proto.PermCreate}, {'d', proto.PermDelete}, {'r', proto.PermRead}, {'w', proto.PermWrite},
	{'a', proto.PermAdmin}}

// PermText spells permissions as clients do, such as cdrwa.
func PermText(perms int32) string {
	var b strings.Builder
	for _, l := range letters {
		if perms&l.perm != 0 {
			b.WriteByte(l.letter)
		}
	}
	return b.String()
}

// Perms reads permissions that PermText has written. ok is false for another letter, or a letter twice.
func Perms(text string) (perms int32, ok bool) {
	for i := range len(text) {
		found := false
		for _, l := range letters {
			if l.letter == text[i] && perms&l.perm == 0 {
				perms |= l.perm
				found = true
			}
		}
		if !found {
			return 0, false
		}
	}
	return perms, true
}
