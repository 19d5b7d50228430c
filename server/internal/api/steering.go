package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed94657493/warren/server/internal/orders"
)

// steeringRoutes are the routes for the orders of operators. They need what changes need, and every permission on
// the root of the tree.
func steeringRoutes() []*route {
	all := perServer(&route{name: "steering",
		about: "What may be steered, as it is now, for visitors that may steer.", gives: orders.State{},
		may: mustSteer, serve: (*API).steering})
	for _, k := range orders.Kinds() {
		all = append(all, perServer(&route{method: "POST", path: "/steering/" + k.Name, name: k.Name, about: k.About,
			takes: k.Takes, gives: k.Gives, changes: true, may: mustSteer,
			serve: func(a *API, w http.ResponseWriter, r *http.Request, v *Visitor) error {
				return a.steer(&k, w, r, v)
			}})...)
	}
	return all
}

var errSteeringLogin = refusal(http.StatusUnauthorized, "steering needs a login")

func (a *API) steering(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	return ask(a.workers, w, r, func() (state orders.State, err error) {
		if err := mustSteer(a, v); err != nil {
			return state, err
		}
		return a.o.Orders.State(), nil
	})
}

// steer carries out an order of a visitor, which mayChange has allowed. The line in the log is that of the order.
func (a *API) steer(k *orders.Kind, w http.ResponseWriter, r *http.Request, v *Visitor) error {
	o := k.New()
	if err := a.body(w, r, o, CredentialsBody); err != nil {
		return err
	}
	if err := a.o.Server.MaySteer(v.Actor); err != nil {
		return err
	}
	record, err := using(a.changers, r, func() (any, error) {
		// A visitor that goes away does not stop what has begun.
		return a.o.Orders.Do(context.WithoutCancel(r.Context()), k, o,
			orders.Operator{User: v.User, Addr: v.Remote.String(), Via: v.via})
	})
	if refused, ok := errors.AsType[*orders.Refusal](err); ok {
		return &Refusal{Status: refused.Status, Text: refused.Error(), After: refused.After}
	}
	if err != nil {
		return err
	}
	return answer(w, record)
}
