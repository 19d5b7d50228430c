// Package auth holds the rules of ACLs: what a connection has authenticated as (Identity), which connections an
// ACL entry means (EntryAllows, Matcher), and which schemes and ids an entry may have (Providers).
//
// It neither authenticates a connection nor stores a list. Values are immutable and may be used concurrently.
// EntryAllows and IsSuper run for every request and do not allocate.
package auth
