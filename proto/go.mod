module github.com/seed94657493/warren/proto

go 1.26.0
