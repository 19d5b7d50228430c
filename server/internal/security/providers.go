package security

import (
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server/config"
)

// Providers returns the schemes that an ACL may name. Source: operations 8.1.
func Providers(cfg *config.Config) auth.Providers {
	p := auth.ProviderIP
	for scheme, provider := range map[string]auth.Providers{
		auth.SchemeDigest: auth.ProviderDigest, auth.SchemeSASL: auth.ProviderSASL, auth.SchemeX509: auth.ProviderX509,
	} {
		if cfg.HasScheme(scheme) {
			p |= provider
		}
	}
	if cfg.X509ID.Type == idAlternative {
		p |= auth.ProviderX509Names
	}
	return p
}
