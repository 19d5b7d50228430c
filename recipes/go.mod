module github.com/seed94657493/warren/recipes

go 1.26.0

require (
	github.com/seed94657493/warren/client v0.1.0
	github.com/seed94657493/warren/proto v0.1.0
)
