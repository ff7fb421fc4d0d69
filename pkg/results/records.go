package results

import (
	"encoding/json"

	"github.com/coreos/dbtester/pkg/files/openjson"
)

// Records are what the abilities of the program left in the record of a run, by their keys:
// see pkg/ability. They are among the keys of the run itself. Those of abilities that this
// release does not have are kept.
type Records map[string]json.RawMessage

// plainRun is a DatabaseRun without its records.
type plainRun DatabaseRun

// MarshalJSON encodes a run with its records.
func (d DatabaseRun) MarshalJSON() ([]byte, error) { return openjson.Marshal(plainRun(d), d.Records) }

// UnmarshalJSON decodes a run with its records.
func (d *DatabaseRun) UnmarshalJSON(data []byte) (err error) {
	d.Records, err = openjson.Unmarshal(data, (*plainRun)(d))
	return err
}
