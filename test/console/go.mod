module github.com/seed94657493/warren/test/console

go 1.26.0

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/seed94657493/warren v0.0.0
	github.com/seed94657493/warren/client v0.1.0
	github.com/seed94657493/warren/recipes v0.1.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/zap v1.28.0
)

require (
	filippo.io/age v1.3.2 // indirect
	filippo.io/hpke v0.4.0 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/hashicorp/go-uuid v1.0.3 // indirect
	github.com/jcmturner/aescts/v2 v2.0.0 // indirect
	github.com/jcmturner/dnsutils/v2 v2.0.0 // indirect
	github.com/jcmturner/gofork v1.7.6 // indirect
	github.com/jcmturner/gokrb5/v8 v8.4.4 // indirect
	github.com/jcmturner/rpc/v2 v2.0.3 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_golang v1.25.0 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/seed94657493/warren/kerberos v0.1.0 // indirect
	github.com/seed94657493/warren/proto v0.1.0 // indirect
	github.com/yuin/goldmark v1.8.7 // indirect
	go.etcd.io/bbolt v1.5.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	maragu.dev/gomponents v1.2.0 // indirect
	software.sslmate.com/src/go-pkcs12 v0.7.4 // indirect
)

// This module is never published, so it may use the tree that it is in.
replace (
	github.com/seed94657493/warren => ../..
	github.com/seed94657493/warren/client => ../../client
	github.com/seed94657493/warren/client/otelclient => ../../client/otelclient
	github.com/seed94657493/warren/client/zk => ../../client/zk
	github.com/seed94657493/warren/kerberos => ../../kerberos
	github.com/seed94657493/warren/proto => ../../proto
	github.com/seed94657493/warren/recipes => ../../recipes
)
