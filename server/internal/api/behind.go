package api

// behindTable are what stands behind the tree: who changed it, and from what it can be brought back.
func behindTable() []*route {
	return perServer(
		&route{name: "audit", about: "The newest lines of the audit log of a server, for visitors that may see all.",
			params: []param{limitParam}, gives: Audit{}, may: mustSeeAll, serve: reads(newest(Server.Audit))},
		&route{name: "backups", about: "The snapshots on the disk of a server, and what the folders of " +
			"warren.console.backups hold, for visitors that may see all.",
			gives: Backups{}, may: mustSeeAll, serve: reads(backups)},
		&route{name: "verification", about: "Reads the files of a backup and compares them with the checksums in " +
			"its manifest: one request begins, others tell how far that is. For visitors that may see all.",
			params: []param{{name: "folder", about: "as warren.console.backups names it", required: true},
				{name: "begin", about: "1 begins a check, unless one goes on", number: true}},
			gives: Verification{}, may: mustSeeAll, serve: reads(verification)})
}

func verification(q *query) func(Server) (*Verification, error) {
	folder, begin := q.text("folder", ""), q.number("begin", 0) != 0
	return func(s Server) (*Verification, error) { return s.VerifyBackup(q.Actor, folder, begin) }
}

func backups(q *query) func(Server) (*Backups, error) {
	return func(s Server) (*Backups, error) { return s.Backups(q.Actor) }
}
