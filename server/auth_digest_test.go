package server

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

func toText(v any) string { return fmt.Sprint(v) }

// The hashes were made by java.security.MessageDigest of OpenJDK 17.
func TestDigestAlgorithms(t *testing.T) {
	for name, want := range map[string]string{
		"SHA1":    "super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
		"sha-1":   "super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
		"MD5":     "super:yzhcGieXAe2NBWh0Znxa3g==",
		"SHA-224": "super:opwh3FU/0WUpM+8JAOS98bsQFC+823kv438mIg==",
		"SHA-256": "super:wjySwxg860UATFtciuZ1lpzrCHrPeov6SPu/ZD56uig=",
		"SHA-384": "super:FA/2SgoedA21NnGcUl5C1HBsMwuibAPXlAq/FqXTuUQPExUJgxpf8gWeD4eOupjP",
		"SHA-512": "super:cMAGk13FCMtJkaVQImGEKhjqoGELCiVjYdIhiD8stB1FnIpdGeFvKwAHh5mf4tUYmBR2ZY91" +
			"81dZTXEHMlkVhg==",
		"SHA-512/224": "super:Jbob8j2c9tikAuLuqxcIJr3TG4aS6fcELZsiHw==",
		"SHA-512/256": "super:GV6U44a5U7SXgFZS9GkWgmwq2+im64wGlYXjCHia3mo=",
		"SHA3-224":    "super:774X6Nz1d3BUO6raVFndfjoMF6e1LHrnHVv5IA==",
		"SHA3-256":    "super:cRy/KPYuDpW/dtsepniTMpuiuupnWgdU9txltIfv3hA=",
		"SHA3-384":    "super:a3efqz9Fj+qRHgJMpOPAzqpMP86/aPKowwZfSsm/gM+qBf87ZmeQYtueLs53P8Rw",
		"SHA3-512": "super:AdTSPtJYC1bEo1Z0UG5z1VXkw2AEUReEjF0RV0jap6VKcDva8ZPEO/WxrOy888alfiJyM5cm" +
			"5BKhrI4X/YFcTg==",
	} {
		cfg := memConfig()
		cfg.DigestAlg, cfg.SuperDigest = name, want
		c := dialWire(t, serveMem(t, cfg, nil), wire.Options{})
		require.NoError(t, c.MustDo(t, wire.Auth("digest", []byte("super:test"))).Err())
		require.Equal(t, "ip:127.0.0.1 digest:super super:", whoAmI(t, c), name)
		must.Do(wireCreate(c, "/a", wire.ACL(31, "auth", "")))(t)
		acl, _ := must.Do2(c.GetACL("/a"))(t)
		require.Equal(t, want, acl[0].Id.Id.String())

		c = dialWire(t, serveMem(t, cfg, nil), wire.Options{})
		require.NoError(t, c.MustDo(t, wire.Auth("digest", []byte("super:wrong"))).Err())
		require.Equal(t, "ip:127.0.0.1 digest:super", whoAmI(t, c), name)
	}
}
