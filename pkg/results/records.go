package results

import (
	"encoding/json"

	"github.com/coreos/dbtester/pkg/files/openjson"
)

// Records hold the records of abilities in the record of a run or a member, by their keys: see
// pkg/ability. They are among the keys of the run or the member itself. Records of abilities that
// this release does not have are kept.
type Records map[string]json.RawMessage

type (
	plainRun    DatabaseRun // without the methods that add records
	plainMember Member
)

// MarshalJSON encodes a run with its records.
func (d DatabaseRun) MarshalJSON() ([]byte, error) { return openjson.Marshal(plainRun(d), d.Records) }

// UnmarshalJSON decodes a run with its records.
func (d *DatabaseRun) UnmarshalJSON(data []byte) (err error) {
	d.Records, err = openjson.Unmarshal(data, (*plainRun)(d))
	return err
}

// MarshalJSON encodes a member with its records.
func (m Member) MarshalJSON() ([]byte, error) { return openjson.Marshal(plainMember(m), m.Records) }

// UnmarshalJSON decodes a member with its records.
func (m *Member) UnmarshalJSON(data []byte) (err error) {
	m.Records, err = openjson.Unmarshal(data, (*plainMember)(m))
	return err
}
