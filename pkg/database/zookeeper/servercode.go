package zookeeper

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
)

// serverError is an answer with a code for which go-zookeeper has no error.
type serverError struct{ code int32 }

func (e serverError) Error() string {
	if m, known := meanings()[e.code]; known {
		return fmt.Sprintf("error %d (%s)", e.code, m.name)
	}
	return fmt.Sprintf("error %d", e.code)
}

// meaning describes a code as the answer to a request. refused means that the server refused the
// request before it proposed a transaction.
type meaning struct {
	name    string // as in the ZooKeeper documentation
	class   database.Class
	refused bool
}

// meanings returns the codes without an error in go-zookeeper.
func meanings() map[int32]meaning {
	return map[int32]meaning{
		// A server sends these codes after a failure on its side, perhaps after it applied the
		// transaction. zetcd answers a SetData that it applied but could not read back with a
		// system error.
		-1: {"SystemError", database.ClassOther, false},
		-2: {"RuntimeInconsistency", database.ClassOther, false},
		-3: {"DataInconsistency", database.ClassOther, false},
		-4: {"ConnectionLoss", database.ClassConnection, false},
		-5: {"MarshallingError", database.ClassOther, false},
		-6: {"Unimplemented", database.ClassOther, true},
		-7: {"OperationTimeout", database.ClassTimeout, false},
		-9: {"InvalidState", database.ClassOther, false},
		// About the quorum and its configuration.
		-12:  {"UnknownSession", database.ClassUnavailable, false},
		-13:  {"NewConfigNoQuorum", database.ClassUnavailable, true},
		-14:  {"ReconfigInProgress", database.ClassUnavailable, true},
		-113: {"InvalidCallback", database.ClassOther, true},
		-119: {"NotReadOnly", database.ClassUnavailable, true},
		-120: {"EphemeralOnLocalSession", database.ClassOther, true},
		-121: {"NoWatcher", database.ClassOther, true},
		-122: {"RequestTimeout", database.ClassTimeout, false},
		-124: {"SessionClosedRequireSaslAuth", database.ClassDenied, true},
		// The leader checks the quota (enforceQuota, from 3.7) before it proposes.
		-125: {"QuotaExceeded", database.ClassSpaceExceeded, true},
		// A request that waited too long in the throttler is neither proposed nor applied.
		-127: {"ThrottledOp", database.ClassThrottled, true},
	}
}

// meaningOf returns the meaning of an answer with a code for which go-zookeeper has no
// error. The library has such codes only in its error texts.
func meaningOf(err error) (meaning, bool) {
	var answer serverError
	if !errors.As(err, &answer) {
		text, unknown := strings.CutPrefix(err.Error(), "unknown error: ")
		code, notNumber := strconv.ParseInt(text, 10, 32)
		if !unknown || notNumber != nil {
			return meaning{}, false
		}
		answer.code = int32(code)
	}
	m, known := meanings()[answer.code]
	return m, known
}
