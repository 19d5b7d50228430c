package proto

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

// errorCodes is the table of client-protocol 11.1.
var errorCodes = map[ErrCode]string{
	0: "OK", -1: "SystemError", -2: "RuntimeInconsistency", -3: "DataInconsistency", -4: "ConnectionLoss",
	-5: "MarshallingError", -6: "Unimplemented", -7: "OperationTimeout", -8: "BadArguments", -9: "InvalidState",
	-12: "UnknownSession", -13: "NewConfigNoQuorum", -14: "ReconfigInProgress", -100: "APIError", -101: "NoNode",
	-102: "NoAuth", -103: "BadVersion", -108: "NoChildrenForEphemerals", -110: "NodeExists", -111: "NotEmpty",
	-112: "SessionExpired", -113: "InvalidCallback", -114: "InvalidACL", -115: "AuthFailed", -116: "Closing",
	-117: "Nothing", -118: "SessionMoved", -119: "NotReadOnly", -120: "EphemeralOnLocalSession", -121: "NoWatcher",
	-122: "RequestTimeout", -123: "ReconfigDisabled", -124: "SessionClosedRequireAuth", -125: "QuotaExceeded",
	-127: "ThrottledOp",
}

func TestErrorTable(t *testing.T) {
	require.Len(t, AllErrors, len(errorCodes))
	for code := ErrCode(-200); code <= 10; code++ {
		name, known := errorCodes[code]
		require.Equal(t, known, code.Known(), "%d", int32(code))
		if !known {
			require.Equal(t, fmt.Sprint(int32(code)), code.Name())
			require.Equal(t, fmt.Sprintf("zookeeper: unknown error (%d)", int32(code)), code.Error())
			require.False(t, code.Retriable())
			continue
		}
		require.Contains(t, AllErrors, code)
		require.Equal(t, name, code.Name())
		require.Contains(t, code.Error(), fmt.Sprintf("%s (%d): ", name, int32(code)))
	}
}

func TestErrorConstants(t *testing.T) {
	for code, want := range map[ErrCode]int32{OK: 0, ErrNoNode: -101, ErrNoAuth: -102, ErrBadVersion: -103,
		ErrNodeExists: -110, ErrNotEmpty: -111, ErrSessionExpired: -112, ErrMarshallingError: -5,
		ErrUnimplemented: -6, ErrThrottledOp: -127} {
		require.Equal(t, want, int32(code))
	}
}

func TestErrorCodesWorkWithErrorsIs(t *testing.T) {
	err := fmt.Errorf("client: get /a: %w", ErrNoNode)
	require.ErrorIs(t, err, ErrNoNode)
	require.False(t, errors.Is(err, ErrNodeExists))
	var code ErrCode
	require.True(t, errors.As(err, &code))
	require.Equal(t, ErrNoNode, code)
}

func TestRetriable(t *testing.T) {
	retriable := map[ErrCode]bool{ErrConnectionLoss: true, ErrOperationTimeout: true, ErrNewConfigNoQuorum: true,
		ErrReconfigInProgress: true, ErrSessionMoved: true, ErrRequestTimeout: true, ErrThrottledOp: true}
	for _, code := range AllErrors {
		require.Equal(t, retriable[code], code.Retriable(), code.Name())
	}
}

func TestOperations(t *testing.T) {
	reads := []OpCode{3, 4, 6, 8, 9, 12, 17, 18, 22, 101, 103, 104, 105, 106, 107}
	writes := []OpCode{-11, 1, 2, 5, 7, 14, 15, 16, 19, 21}
	for op := OpCode(-20); op < 200; op++ {
		require.Equal(t, slices.Contains(reads, op), op.IsRead(), op.String())
		require.Equal(t, slices.Contains(writes, op), op.IsWrite(), op.String())
		require.NotEqual(t, "", op.String())
	}
	require.Equal(t, "getData", OpGetData.String())
	require.Equal(t, "op(99)", OpCode(99).String())
	require.Equal(t, "op(10)", OpCode(10).String())
	require.Len(t, AllOps, 33)
}

func TestZxid(t *testing.T) {
	z := MakeZxid(4, 0xffffffff)
	require.EqualValues(t, 4, z.Epoch())
	require.EqualValues(t, 0xffffffff, z.Counter())
	require.Equal(t, "0x4ffffffff", z.String())
	require.Equal(t, "0xffffffffffffffff", Zxid(-1).String())
	require.EqualValues(t, -1, Zxid(-1).Epoch())
	require.Equal(t, "0x100002c4c590000", tinySession.String())
	require.Less(t, z, MakeZxid(5, 0))
}

func TestOwners(t *testing.T) {
	require.False(t, IsSessionOwner(0))
	require.False(t, IsSessionOwner(OwnerContainer))
	require.True(t, IsSessionOwner(tinySession))
	for _, ttl := range []int64{1, 60000, MaxTTL} {
		owner := TTLOwner(ttl)
		got, ok := TTLOf(owner)
		require.True(t, ok)
		require.Equal(t, ttl, got)
		require.False(t, IsSessionOwner(owner))
	}
	_, ok := TTLOf(tinySession)
	require.False(t, ok)
	require.Equal(t, SessionID(-0x00ffffffffff15a0), TTLOwner(60000))
}

func TestCreateModes(t *testing.T) {
	for mode, want := range map[CreateMode][4]bool{ // valid, ephemeral, sequential, TTL
		-1: {}, 0: {true}, 1: {true, true}, 2: {true, false, true}, 3: {true, true, true}, 4: {true},
		5: {true, false, false, true}, 6: {true, false, true, true}, 7: {},
	} {
		require.Equal(t, want, [4]bool{mode.Valid(), mode.IsEphemeral(), mode.IsSequential(), mode.IsTTL()},
			"%d", mode)
	}
}
