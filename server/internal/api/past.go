package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// timeForms are the times that parseMoment reads, in UTC if they do not say.
var timeForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
	"2006-01-02 15:04"}

// parseMoment reads a zxid in hexadecimal, with or without 0x, or a time.
func parseMoment(text string) (m Moment, err error) {
	text = strings.TrimSpace(text)
	if zxid, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 63); err == nil && zxid > 0 {
		return Moment{Zxid: zxid}, nil
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, strings.TrimSuffix(text, " UTC")); err == nil && t.UnixMilli() > 0 {
			return Moment{TimeMs: t.UnixMilli()}, nil
		}
	}
	return m, refusal(http.StatusBadRequest,
		"a moment is a zxid in hexadecimal, or a time such as 2026-01-31T12:00:00Z")
}

var atParam = param{name: "at", about: "a zxid in hexadecimal, or a time such as 2026-01-31T12:00:00Z", required: true}

func pastTable() []*route {
	return []*route{
		{name: "past", about: "A znode as it was, from the log and the snapshots of this server. It needs the " +
			"permissions for a snapshot.",
			params: []param{atParam, pathParam, limitParam,
				{name: "after", about: "child after which the page begins"}},
			gives: Past{}, serve: waits(past)},
		{name: "terms", about: "Who has led an election, or held a lock that one session at a time holds, from the " +
			"log of this server. It needs the permissions for a snapshot.",
			params: []param{pathParam}, gives: Terms{}, serve: waits(terms)},
		{name: "difference", about: "What changed between two moments. It needs the permissions for a snapshot.",
			params: []param{{name: "from", about: "the earlier moment, as at of past", required: true},
				{name: "to", about: "the later one; the present if it is not given"}, underParam, limitParam},
			gives: Difference{}, serve: waits(difference)},
	}
}

// moment is a parameter that names a moment.
func (q *query) moment(name string) Moment {
	m, err := parseMoment(q.text(name, ""))
	q.fail(err)
	return m
}

func past(q *query) func(Server) (*Past, error) {
	path, after, limit, at := q.path(), q.text("after", ""), q.limit(), q.moment("at")
	return func(s Server) (*Past, error) {
		p, err := s.Past(q.ctx, q.Actor, at, path, after, limit)
		if err == nil {
			p.Znode.Encode()
		}
		return p, err
	}
}

func terms(q *query) func(Server) (*Terms, error) {
	path := q.path()
	return func(s Server) (*Terms, error) { return s.Terms(q.ctx, q.Actor, path) }
}

func difference(q *query) func(Server) (*Difference, error) {
	under, limit, from, to := q.text("under", "/"), q.limit(), q.moment("from"), Moment{}
	if q.text("to", "") != "" {
		to = q.moment("to")
	}
	return func(s Server) (*Difference, error) { return s.Difference(q.ctx, q.Actor, from, to, under, limit) }
}
