package zookeeper

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// Every protocol code has its outcome and class, with both clients: failed only where no server can
// have applied the request.
func TestServerCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code    int32
		name    string
		class   database.Class
		outcome workload.Outcome
	}{
		{-1, "SystemError", database.ClassOther, workload.Unknown},
		{-2, "RuntimeInconsistency", database.ClassOther, workload.Unknown},
		{-3, "DataInconsistency", database.ClassOther, workload.Unknown},
		{-4, "ConnectionLoss", database.ClassConnection, workload.Unknown},
		{-5, "MarshallingError", database.ClassOther, workload.Unknown},
		{-6, "Unimplemented", database.ClassOther, workload.Failed},
		{-7, "OperationTimeout", database.ClassTimeout, workload.Unknown},
		{-8, "", database.ClassOther, workload.Failed},
		{-9, "InvalidState", database.ClassOther, workload.Unknown},
		{-12, "UnknownSession", database.ClassUnavailable, workload.Unknown},
		{-13, "NewConfigNoQuorum", database.ClassUnavailable, workload.Failed},
		{-14, "ReconfigInProgress", database.ClassUnavailable, workload.Failed},
		{-100, "", database.ClassOther, workload.Unknown},
		{-101, "", database.ClassNotFound, workload.Failed},
		{-102, "", database.ClassDenied, workload.Failed},
		{-103, "", database.ClassConflict, workload.Failed},
		{-108, "", database.ClassOther, workload.Failed},
		{-110, "", database.ClassConflict, workload.Failed},
		{-111, "", database.ClassOther, workload.Failed},
		{-112, "", database.ClassUnavailable, workload.Failed},
		{-113, "InvalidCallback", database.ClassOther, workload.Failed},
		{-114, "", database.ClassDenied, workload.Failed},
		{-115, "", database.ClassDenied, workload.Failed},
		{-116, "", database.ClassUnavailable, workload.Unknown},
		{-117, "", database.ClassOther, workload.Unknown},
		{-118, "", database.ClassUnavailable, workload.Failed},
		{-119, "NotReadOnly", database.ClassUnavailable, workload.Failed},
		{-120, "EphemeralOnLocalSession", database.ClassOther, workload.Failed},
		{-121, "NoWatcher", database.ClassOther, workload.Failed},
		{-122, "RequestTimeout", database.ClassTimeout, workload.Unknown},
		{-123, "", database.ClassDenied, workload.Failed},
		{-124, "SessionClosedRequireSaslAuth", database.ClassDenied, workload.Failed},
		{-125, "QuotaExceeded", database.ClassSpaceExceeded, workload.Failed},
		{-127, "ThrottledOp", database.ClassThrottled, workload.Failed},
		{-128, "", database.ClassOther, workload.Unknown},
	} {
		err := classify(errorOf(c.code), true)
		if outcome, class := database.Classify(err); outcome != c.outcome || class != c.class {
			t.Errorf("code %d: %v %q, want %v %q", c.code, outcome, class, c.outcome, c.class)
		}
		if c.name == "" {
			continue
		}
		if !strings.Contains(err.Error(), fmt.Sprintf("error %d (%s)", c.code, c.name)) {
			t.Errorf("code %d has the text %q, want its name %s", c.code, err, c.name)
		}
		err = classify(fmt.Errorf("unknown error: %d", c.code), true) // as in go-zookeeper
		if outcome, class := database.Classify(err); outcome != c.outcome || class != c.class {
			t.Errorf("%v: %v %q, want %v %q", err, outcome, class, c.outcome, c.class)
		}
	}
}

// The codes come over the wire to both clients.
func TestServerCodesOnTheWire(t *testing.T) {
	for _, c := range []struct {
		code    int32
		class   database.Class
		outcome workload.Outcome
	}{
		{-4, database.ClassConnection, workload.Unknown},
		{-125, database.ClassSpaceExceeded, workload.Failed},
		{-127, database.ClassThrottled, workload.Failed},
	} {
		target := script{func(s *talk) {
			s.welcome(1)
			for request := s.read(); request != nil; request = s.read() {
				s.refuse(request, c.code)
			}
		}}.serve(t)
		mustClass(t, trySet(t.Context(), openLeanTo(t, target)), c.class, c.outcome)
		library := openOne(t, target)
		mustClass(t, trySet(t.Context(), library), c.class, c.outcome)
		library.close()
	}
}
