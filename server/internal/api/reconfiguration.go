package api

import (
	"net/http"

	"go.uber.org/zap"
)

// reconfigurationTable are the routes that change the ensemble. They need what orders need.
func reconfigurationTable() []*route {
	return []*route{
		{method: "POST", path: "/reconfiguration/plan", name: "planReconfiguration", takes: EnsembleChange{},
			gives: Reconfiguration{}, changes: true,
			about: "Says who would vote after a change of the ensemble, and how many servers might fail.",
			serve: takes((*API).planReconfiguration)},
		{method: "POST", path: "/reconfiguration", name: "reconfigure", takes: EnsembleChange{}, gives: Reconfigured{},
			changes: true, about: "Changes the ensemble, if its configuration is still the one with the version.",
			serve: takes((*API).reconfigure)},
	}
}

func (a *API) planReconfiguration(r *http.Request, v *Visitor, c EnsembleChange) (*Reconfiguration, error) {
	return Ask(a, r, func() (*Reconfiguration, error) { return a.o.Server.PlanReconfiguration(v.Actor, c) })
}

func (a *API) reconfigure(r *http.Request, v *Visitor, c EnsembleChange) (*Reconfigured, error) {
	done, err := using(a.changers, r, func() (*Reconfigured, error) {
		return a.o.Server.Reconfigure(r.Context(), v.Actor, c)
	})
	a.o.Log.Info("reconfiguration from the console", zap.Stringer("client_addr", v.Remote), zap.String("user", v.User),
		zap.String("join", c.Join[:min(len(c.Join), pathMax)]),
		zap.String("leave", c.Leave[:min(len(c.Leave), pathMax)]), zap.Error(err))
	return done, err
}
