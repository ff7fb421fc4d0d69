package workload

import "fmt"

// RangeMode names the data that one [OpRange] request reads. The set is closed.
type RangeMode string

// The range modes. Lists in pages and in streams read to the last key that exists.
const (
	RangeValues RangeMode = "values" // up to the limit of keys with their values
	RangeKeys   RangeMode = "keys"   // the same without values
	RangeCount  RangeMode = "count"  // the number of all keys from one on
	RangePages  RangeMode = "pages"  // all keys from one on with their values, in requests up to the limit, from one state of the data
	RangeStream RangeMode = "stream" // the same in one request, whose answer comes in parts
)

// rangeProperties decide everything that differs by mode, except the call itself.
type rangeProperties struct {
	mode    RangeMode
	bounded bool // at most as many keys as the limit
	limited bool // has a limit, for all keys or for a page
	values  bool // returns values
	text    string
}

// rangeModes holds every mode once, the default first. Nothing changes it.
var rangeModes = [...]rangeProperties{
	{mode: RangeValues, bounded: true, limited: true, values: true, text: "ranges of at most %d keys"},
	{mode: RangeKeys, bounded: true, limited: true, text: "ranges of at most %d keys without values"},
	{mode: RangeCount, text: "counts of all keys from one on"},
	{mode: RangePages, limited: true, values: true, text: "lists of all keys from one on in pages of at most %d"},
	{mode: RangeStream, values: true, text: "streams of all keys from one on"},
}

// RangeModes returns all modes, the default first.
func RangeModes() []RangeMode {
	var all []RangeMode
	for _, p := range rangeModes {
		all = append(all, p.mode)
	}
	return all
}

// properties returns the default's for the zero mode.
func (m RangeMode) properties() rangeProperties {
	for i := range rangeModes {
		if rangeModes[i].mode == m {
			return rangeModes[i]
		}
	}
	return rangeModes[0]
}

// Bounded reports whether m reads no more keys than the limit.
func (m RangeMode) Bounded() bool { return m.properties().bounded }

// Limited reports whether m has a limit, for all keys or for a page.
func (m RangeMode) Limited() bool { return m.properties().limited }

// Values reports whether m returns values.
func (m RangeMode) Values() bool { return m.properties().values }

// DescribeRange describes the data that ranges read; "" if no operation reads ranges.
func (l Load) DescribeRange() string {
	switch p := l.RangeMode.properties(); {
	case p.limited && l.RangeLimit > 0:
		return fmt.Sprintf(p.text, l.RangeLimit)
	case p.limited:
		return ""
	default:
		return p.text
	}
}
