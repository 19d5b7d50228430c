module github.com/seed94657493/warren/client

go 1.26.0

require github.com/seed94657493/warren/proto v0.1.0
