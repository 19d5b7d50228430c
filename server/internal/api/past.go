package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// timeForms are the times that ParseMoment reads, in UTC if they do not say.
var timeForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
	"2006-01-02 15:04"}

// ParseMoment reads a zxid in hexadecimal, with or without 0x, or a time.
func ParseMoment(text string) (m Moment, err error) {
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
		{method: "GET", path: "/past", name: "past",
			about: "A znode as it was, from the log and the snapshots of this server. It needs the permissions for " +
				"a snapshot.",
			params: []param{atParam, pathParam, limitParam,
				{name: "after", about: "child after which the page begins"}},
			gives: Past{}, serve: (*API).past},
		{method: "GET", path: "/terms", name: "terms",
			about: "Who has led an election, or held a lock that one session at a time holds, from the log of this " +
				"server. It needs the permissions for a snapshot.",
			params: []param{pathParam}, gives: Terms{}, serve: (*API).terms},
		{method: "GET", path: "/difference", name: "difference",
			about: "What changed between two moments. It needs the permissions for a snapshot.",
			params: []param{{name: "from", about: "the earlier moment, as at of past", required: true},
				{name: "to", about: "the later one; the present if it is not given"}, underParam, limitParam},
			gives: Difference{}, serve: (*API).difference},
	}
}

func (a *API) past(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r)
	path, after, limit := q.text("path", ""), q.text("after", ""), q.limit()
	if q.err != nil {
		return q.err
	}
	at, err := ParseMoment(q.text("at", ""))
	if err != nil {
		return err
	}
	p, err := a.o.Server.Past(r.Context(), v.Actor, at, path, after, limit)
	if err != nil {
		return err
	}
	p.Znode.Encode()
	return answer(w, p)
}

func (a *API) terms(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r)
	path := q.text("path", "")
	if q.err != nil {
		return q.err
	}
	t, err := a.o.Server.Terms(r.Context(), v.Actor, path)
	if err != nil {
		return err
	}
	return answer(w, t)
}

func (a *API) difference(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r)
	under, limit := q.text("under", "/"), q.limit()
	if q.err != nil {
		return q.err
	}
	from, to, err := ParseMoments(q.text("from", ""), q.text("to", ""))
	if err != nil {
		return err
	}
	d, err := a.o.Server.Difference(r.Context(), v.Actor, from, to, under, limit)
	if err != nil {
		return err
	}
	return answer(w, d)
}

// ParseMoments reads two moments. The second is the present if it is empty.
func ParseMoments(first, second string) (from, to Moment, err error) {
	if from, err = ParseMoment(first); err == nil && second != "" {
		to, err = ParseMoment(second)
	}
	return from, to, err
}
