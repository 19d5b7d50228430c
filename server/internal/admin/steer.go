package admin

import (
	"errors"
	"net/http"
	"strings"

	"github.com/seed94657493/warren/server/internal/orders"
)

// steering returns the commands that change how a server works: POST with a JSON object, and credentials as for a
// snapshot.
func steering() (all []*command) {
	for _, k := range orders.Kinds() {
		all = append(all, &command{name: k.Name, aliases: k.Aliases, post: true, auth: true, steers: true,
			run: func(s *Server, r *http.Request) answer { return s.steer(&k, r) }})
	}
	return all
}

func (s *Server) steer(k *orders.Kind, r *http.Request) answer {
	by := orders.Operator{User: userOf(r), Addr: r.RemoteAddr}
	var fields any
	o, err := k.Decode(r.Body)
	if err != nil {
		err = s.o.Orders.Refuse(k, by, err)
	} else {
		fields, err = s.o.Orders.Do(r.Context(), k, o, by)
	}
	var refusal *orders.Refusal
	switch {
	case errors.As(err, &refusal):
		return answer{status: refusal.Status, failure: err.Error(), after: refusal.After}
	case err != nil:
		return answer{status: http.StatusInternalServerError, failure: err.Error()}
	}
	return answer{fields: fields}
}

// userOf returns the name of the user that has sent a request with credentials of scheme digest, for the log.
func userOf(r *http.Request) string {
	scheme, credentials, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "digest") {
		return ""
	}
	user, _, _ := strings.Cut(strings.TrimSpace(credentials), ":")
	return user
}
