package api

// behindTable are what stands behind the tree: who changed it, and from what it can be brought back.
func behindTable() []*route {
	return perServer(
		&route{method: "GET", path: "/audit", name: "audit",
			about:  "The newest lines of the audit log of a server, for visitors that may see all.",
			params: []param{limitParam}, gives: Audit{}, may: mustSeeAll, serve: reads(audit)},
		&route{method: "GET", path: "/backups", name: "backups",
			about: "The snapshots on the disk of a server, and what the folders of warren.console.backups hold, " +
				"for visitors that may see all.",
			gives: Backups{}, may: mustSeeAll, serve: reads(backups)})
}

func audit(q *query, a Actor) func(Server) (*Audit, error) {
	limit := q.limit()
	return func(s Server) (*Audit, error) { return s.Audit(a, limit) }
}

func backups(_ *query, a Actor) func(Server) (*Backups, error) {
	return func(s Server) (*Backups, error) { return s.Backups(a) }
}
