package merge

import (
	"errors"
	"fmt"
	"time"
)

// Loss is a generator lost before its load ended.
type Loss struct {
	Generator string
	Part      int
	// Step and Second name the last second that it sent; Second is 0 if it sent no second.
	Step   int
	Second int64
	Cause  error
}

// String names the generator.
func (l Loss) String() string {
	if l.Second == 0 {
		return fmt.Sprintf("generator %s was lost before its first second: %v", l.Generator, l.Cause)
	}
	return fmt.Sprintf("generator %s was lost after %s of step %d: %v", l.Generator, time.Unix(l.Second, 0).UTC().Format(time.TimeOnly), l.Step, l.Cause)
}

// ErrLost is returned for records from a generator that counts as lost.
var ErrLost = errors.New("the generator counts as lost")
