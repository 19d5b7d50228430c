module github.com/seed94657493/warren/test/bundle

go 1.26.0

require (
	github.com/evanw/esbuild v0.28.2
	github.com/stretchr/testify v1.12.1
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.0.0-20220715151400-c0bba94af5f8 // indirect
)
