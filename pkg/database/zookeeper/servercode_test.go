package zookeeper

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// Every code of the protocol has its outcome and class, with both clients: failed only
// where no server can have applied the request.
func TestServerCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code    int32
		name    string
		class   database.Class
		outcome database.Outcome
	}{
		{-1, "SystemError", database.ClassOther, database.Unknown},
		{-2, "RuntimeInconsistency", database.ClassOther, database.Unknown},
		{-3, "DataInconsistency", database.ClassOther, database.Unknown},
		{-4, "ConnectionLoss", database.ClassConnection, database.Unknown},
		{-5, "MarshallingError", database.ClassOther, database.Unknown},
		{-6, "Unimplemented", database.ClassOther, database.Failed},
		{-7, "OperationTimeout", database.ClassTimeout, database.Unknown},
		{-8, "", database.ClassOther, database.Failed},
		{-9, "InvalidState", database.ClassOther, database.Unknown},
		{-12, "UnknownSession", database.ClassUnavailable, database.Unknown},
		{-13, "NewConfigNoQuorum", database.ClassUnavailable, database.Failed},
		{-14, "ReconfigInProgress", database.ClassUnavailable, database.Failed},
		{-100, "", database.ClassOther, database.Unknown},
		{-101, "", database.ClassNotFound, database.Failed},
		{-102, "", database.ClassDenied, database.Failed},
		{-103, "", database.ClassConflict, database.Failed},
		{-108, "", database.ClassOther, database.Failed},
		{-110, "", database.ClassConflict, database.Failed},
		{-111, "", database.ClassOther, database.Failed},
		{-112, "", database.ClassUnavailable, database.Failed},
		{-113, "InvalidCallback", database.ClassOther, database.Failed},
		{-114, "", database.ClassDenied, database.Failed},
		{-115, "", database.ClassDenied, database.Failed},
		{-116, "", database.ClassUnavailable, database.Unknown},
		{-117, "", database.ClassOther, database.Unknown},
		{-118, "", database.ClassUnavailable, database.Failed},
		{-119, "NotReadOnly", database.ClassUnavailable, database.Failed},
		{-120, "EphemeralOnLocalSession", database.ClassOther, database.Failed},
		{-121, "NoWatcher", database.ClassOther, database.Failed},
		{-122, "RequestTimeout", database.ClassTimeout, database.Unknown},
		{-123, "", database.ClassDenied, database.Failed},
		{-124, "SessionClosedRequireSaslAuth", database.ClassDenied, database.Failed},
		{-125, "QuotaExceeded", database.ClassSpaceExceeded, database.Failed},
		{-127, "ThrottledOp", database.ClassThrottled, database.Failed},
		{-128, "", database.ClassOther, database.Unknown}, // of a release to come
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
		err = classify(fmt.Errorf("unknown error: %d", c.code), true) // go-zookeeper's
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
		outcome database.Outcome
	}{
		{-4, database.ClassConnection, database.Unknown},
		{-125, database.ClassSpaceExceeded, database.Failed},
		{-127, database.ClassThrottled, database.Failed},
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
