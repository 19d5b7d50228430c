package krb5

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/seed94657493/warren/test/must"
)

// KDC gives out tickets by the protocol of RFC 4120, over TCP. It has no clock: the time is that of the encrypted
// timestamp or authenticator in a request. So it serves clients under the clock of testing/synctest, if NewKDC is
// called outside of their bubble. All methods may be called by any goroutine.
type KDC struct {
	// Config is the krb5.conf of clients.
	Config string

	f           *Forge
	realm       string
	life, renew time.Duration // of tickets, and how long they can be renewed

	mu     sync.Mutex
	keys   map[string]types.EncryptionKey // by principal
	isAway bool
	counts map[string]int
}

// The kinds of answers that KDC.Count tells.
const (
	ByKey    = "ticket for tickets, by the key of its owner"
	ByTicket = "ticket for a service"
	Renewed  = "ticket for tickets, renewed"
	Refused  = "refused"
)

// NewKDC starts a KDC for principals with keys made of passwords, which ends with the test.
func (f *Forge) NewKDC(realm string, life, renew time.Duration, passwords map[string]string) *KDC {
	f.t.Helper()
	k := &KDC{f: f, realm: realm, life: life, renew: renew, keys: map[string]types.EncryptionKey{},
		counts: map[string]int{}}
	k.SetPassword(k.granting(), "the KDC's own")
	for name, password := range passwords {
		k.SetPassword(name, password)
	}
	ln := must.Listen(f.t)
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go k.serve(nc)
		}
	}()
	k.Config = f.write("krb5.conf", []byte("[libdefaults]\n default_realm = "+realm+
		"\n udp_preference_limit = 1\n[realms]\n "+realm+" = {\n  kdc = "+ln.Addr().String()+"\n }\n"))
	return k
}

// granting is the principal that tickets for tickets are for.
func (k *KDC) granting() string { return "krbtgt/" + k.realm + "@" + k.realm }

// SetPassword gives a principal another key.
func (k *KDC) SetPassword(principal, password string) {
	key := keyOf(k.f.t, principal, password)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[principal] = key
}

// SetAway makes the KDC close connections without an answer, or answer again.
func (k *KDC) SetAway(isAway bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isAway = isAway
}

// Count returns how many answers of a kind the KDC has given.
func (k *KDC) Count(kind string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.counts[kind]
}

// Kinit writes a ticket for tickets of a principal to a cache, as kinit does at the caller's time, and tickets for
// services, which cannot be renewed.
func (k *KDC) Kinit(file, principal string, services ...string) (cache string) {
	now := time.Now().UTC().Truncate(time.Second)
	k.mu.Lock()
	defer k.mu.Unlock()
	var entries []cacheEntry
	for _, of := range append(services, k.granting()) {
		part := k.part(principal, now)
		if of != k.granting() {
			part.RenewTill = time.Time{}
		}
		entries = append(entries, cacheEntry{of, k.f.seal(part, of, k.keys[of]), part})
	}
	return k.f.writeCache(file, principal, entries...)
}

// part is what a ticket that begins now says.
func (k *KDC) part(client string, now time.Time) messages.EncTicketPart {
	key := types.EncryptionKey{KeyType: aes, KeyValue: make([]byte, 32)}
	_, _ = rand.Read(key.KeyValue)
	n, realm := name(client)
	part := messages.EncTicketPart{Flags: types.NewKrbFlags(), Key: key, CRealm: realm, CName: n, AuthTime: now,
		StartTime: now, EndTime: now.Add(k.life)}
	if k.renew > 0 {
		types.SetFlag(&part.Flags, flags.Renewable)
		part.RenewTill = now.Add(k.renew)
	}
	return part
}

// serve answers one request.
func (k *KDC) serve(nc net.Conn) {
	defer nc.Close()
	var size [4]byte
	if _, err := io.ReadFull(nc, size[:]); err != nil {
		return
	}
	request := make([]byte, min(binary.BigEndian.Uint32(size[:]), 1<<16))
	if _, err := io.ReadFull(nc, request); err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.isAway {
		return
	}
	answer, err := k.answer(request)
	if refusal, ok := errors.AsType[messages.KRBError](err); ok {
		if refusal.ErrorCode != errorcode.KDC_ERR_PREAUTH_REQUIRED {
			k.counts[Refused]++
		}
		answer, err = refusal.Marshal()
	}
	if err != nil {
		k.f.t.Errorf("KDC: %v", err)
		return
	}
	_, _ = nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...))
}

func (k *KDC) answer(request []byte) ([]byte, error) {
	var as messages.ASReq
	if as.Unmarshal(request) == nil {
		return k.authenticate(&as)
	}
	var tgs messages.TGSReq
	if err := tgs.Unmarshal(request); err != nil {
		return nil, err
	}
	return k.grant(&tgs)
}

// refuse is an answer that says why there is no ticket.
func (k *KDC) refuse(req *messages.KDCReqBody, code int32) error {
	return messages.NewKRBError(req.SName, k.realm, code, "")
}

// keyOf returns the key of a principal in a request.
func (k *KDC) keyOf(n types.PrincipalName) (principal string, key types.EncryptionKey, ok bool) {
	principal = n.PrincipalNameString() + "@" + k.realm
	key, ok = k.keys[principal]
	return principal, key, ok
}

// authenticate gives a ticket for tickets to a client that has encrypted the time with its key.
func (k *KDC) authenticate(req *messages.ASReq) ([]byte, error) {
	client, key, ok := k.keyOf(req.ReqBody.CName)
	if !ok {
		return nil, k.refuse(&req.ReqBody, errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN)
	}
	for _, pa := range req.PAData {
		if pa.PADataType != patype.PA_ENC_TIMESTAMP {
			continue
		}
		var sealed types.EncryptedData
		var at types.PAEncTSEnc
		if err := sealed.Unmarshal(pa.PADataValue); err != nil {
			return nil, err
		}
		text, err := crypto.DecryptEncPart(sealed, key, keyusage.AS_REQ_PA_ENC_TIMESTAMP)
		if err != nil {
			return nil, k.refuse(&req.ReqBody, errorcode.KDC_ERR_PREAUTH_FAILED)
		}
		if err := at.Unmarshal(text); err != nil {
			return nil, err
		}
		k.counts[ByKey]++
		fields, err := k.give(&req.ReqBody, client, k.granting(), k.part(client, at.PATimestamp), key,
			keyusage.AS_REP_ENCPART)
		rep := messages.ASRep{KDCRepFields: fields}
		rep.MsgType = msgtype.KRB_AS_REP
		if err != nil {
			return nil, err
		}
		return rep.Marshal()
	}
	kinds, err := asn1.Marshal(types.ETypeInfo2{{EType: aes}})
	if err != nil {
		return nil, err
	}
	wanted, err := asn1.Marshal(types.PADataSequence{{PADataType: patype.PA_ETYPE_INFO2, PADataValue: kinds},
		{PADataType: patype.PA_ENC_TIMESTAMP}})
	if err != nil {
		return nil, err
	}
	refusal := messages.NewKRBError(req.ReqBody.SName, k.realm, errorcode.KDC_ERR_PREAUTH_REQUIRED, "")
	refusal.CRealm, refusal.CName, refusal.EData = k.realm, req.ReqBody.CName, wanted
	return nil, refusal
}

// grant gives a ticket for a service, or renews the ticket for tickets that the request has.
func (k *KDC) grant(req *messages.TGSReq) ([]byte, error) {
	service, _, ok := k.keyOf(req.ReqBody.SName)
	if !ok {
		return nil, k.refuse(&req.ReqBody, errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN)
	}
	var ap messages.APReq
	if err := ap.Unmarshal(req.PAData[0].PADataValue); err != nil {
		return nil, err
	}
	if err := ap.Ticket.Decrypt(k.keys[k.granting()]); err != nil {
		return nil, err
	}
	held := &ap.Ticket.DecryptedEncPart
	if err := ap.DecryptAuthenticator(held.Key); err != nil {
		return nil, err
	}
	now, isRenewal := ap.Authenticator.CTime, types.IsFlagSet(&req.ReqBody.KDCOptions, flags.Renew)
	part := k.part(held.CName.PrincipalNameString()+"@"+held.CRealm, now)
	part.AuthTime, part.RenewTill = held.AuthTime, held.RenewTill
	last, kind := held.EndTime, ByTicket
	if isRenewal {
		last, kind = held.RenewTill, Renewed
	}
	if last.Before(part.EndTime) {
		part.EndTime = last
	}
	switch {
	case now.After(held.EndTime):
		return nil, k.refuse(&req.ReqBody, errorcode.KRB_AP_ERR_TKT_EXPIRED)
	case !now.Before(last):
		return nil, k.refuse(&req.ReqBody, errorcode.KDC_ERR_BADOPTION)
	}
	k.counts[kind]++
	fields, err := k.give(&req.ReqBody, held.CName.PrincipalNameString()+"@"+held.CRealm, service, part, held.Key,
		keyusage.TGS_REP_ENCPART_SESSION_KEY)
	if err != nil {
		return nil, err
	}
	rep := messages.TGSRep{KDCRepFields: fields}
	rep.MsgType = msgtype.KRB_TGS_REP
	return rep.Marshal()
}

// give returns what both answers have: the ticket, and what it says, encrypted for the client.
func (k *KDC) give(req *messages.KDCReqBody, client, service string, part messages.EncTicketPart,
	key types.EncryptionKey, usage uint32,
) (fields messages.KDCRepFields, err error) {
	own := messages.EncKDCRepPart{Key: part.Key, LastReqs: []messages.LastReq{{LRValue: part.AuthTime}},
		Nonce: req.Nonce, Flags: part.Flags, AuthTime: part.AuthTime, StartTime: part.StartTime,
		EndTime: part.EndTime, RenewTill: part.RenewTill, SRealm: k.realm, SName: req.SName}
	text, err := own.Marshal()
	if err != nil {
		return fields, err
	}
	sealed, err := crypto.GetEncryptedData(text, key, usage, 1)
	n, realm := name(client)
	return messages.KDCRepFields{PVNO: 5, CRealm: realm, CName: n, Ticket: k.f.seal(part, service, k.keys[service]),
		EncPart: sealed}, err
}
