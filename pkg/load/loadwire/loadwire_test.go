package loadwire

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/protobuf/proto"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// filler gives each field another value, to show a field not converted, or mistaken for another
// one.
type filler struct{ n int64 }

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(f.n)
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 1.0/3)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_000_000_000, f.n).UTC()))
			return
		}
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	default:
		panic("a field of kind " + v.Kind().String() + " has no value here")
	}
}

// filled returns a value without zero fields.
func filled[T any](f *filler) (v T) {
	f.fill(reflect.ValueOf(&v).Elem())
	return v
}

// sent returns a message as the other side receives it.
func sent[M proto.Message](t *testing.T, m, empty M) M {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatalf("marshal the message: %v", err)
	}
	if err := proto.Unmarshal(data, empty); err != nil {
		t.Fatalf("unmarshal the message: %v", err)
	}
	return empty
}

func latency(o workload.Outcome, n int64) load.Latency {
	h := histogram.New()
	for i := range 500 * n {
		histogram.Record(h, time.Duration(i*i*n))
	}
	return load.Latency{Histogram: h, Series: results.Series{Timing: results.TimingService, Operation: "write", Outcome: o, Step: 7, Phase: results.PhaseMeasure}}
}

// second returns a second in which every field in each row has a value.
func second(f *filler) load.Second {
	s := load.Second{Start: time.Unix(1_700_000_000, 0).UTC(), Last: true}
	for range 2 {
		i, m, e, p := filled[results.Interval](f), filled[results.MemberSecond](f), filled[results.ErrorCount](f), filled[results.Progress](f)
		i.Second, m.Second, e.Second = 1_700_000_000, 1_700_000_000, 1_700_000_000
		i.Step, m.Step, e.Step, p.Step = 7, 7, 7, 7
		s.Intervals, s.Members, s.Errors, s.Progress = append(s.Intervals, i), append(s.Members, m), append(s.Errors, e), append(s.Progress, p)
	}
	s.Errors[1].FirstText, s.Errors[1].FirstTime = "", time.Time{} // a class with an earlier example
	s.Members[1].Member = -1
	s.Latencies = []load.Latency{latency(workload.OK, 1), latency(workload.OK, 2)}
	s.Failures = []load.Latency{latency(workload.Failed, 3), latency(workload.Unknown, 4), latency(workload.Declined, 5)}
	return s
}

// TestSecond: a second is the same after it was sent, and so is another second decoded in the
// same memory.
func TestSecond(t *testing.T) {
	var e Encoder
	var d Decoder
	f := &filler{}
	for range 2 {
		want := second(f)
		m, err := e.Second(want)
		if err != nil {
			t.Fatalf("encode the second: %v", err)
		}
		got, err := d.Second(sent(t, m, &pb.LoadSecond{}))
		if err != nil {
			t.Fatalf("decode the second: %v", err)
		}
		for _, lists := range [][2][]load.Latency{{want.Latencies, got.Latencies}, {want.Failures, got.Failures}} {
			if len(lists[0]) != len(lists[1]) {
				t.Fatalf("%d histograms, want %d", len(lists[1]), len(lists[0]))
			}
			for i, l := range lists[0] {
				if g := lists[1][i]; g.Series != l.Series || !g.Histogram.Equals(l.Histogram) {
					t.Errorf("histogram %d is of %s with %d values, want %s with %d", i, g.Series.Tag(), g.Histogram.TotalCount(), l.Series.Tag(), l.Histogram.TotalCount())
				}
			}
		}
		want.Latencies, want.Failures, got.Latencies, got.Failures = nil, nil, nil, nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the second is\n%+v\nwant\n%+v", got, want)
		}
		again, err := e.Second(second(&filler{n: f.n}))
		if err != nil || proto.Equal(m, again) {
			t.Errorf("another second has the same message, error %v", err)
		}
	}
}

// TestMember: a member histogram, which has fewer digits, is the same after it was sent.
func TestMember(t *testing.T) {
	var e Encoder
	var d Decoder
	for member := -1; member < 2; member++ {
		h := results.NewMemberHistogram()
		for i := range int64(1000) {
			if err := h.RecordValue(i * i * int64(member+2)); err != nil {
				t.Fatalf("record: %v", err)
			}
		}
		want := load.MemberTotal{
			Series: results.MemberSeries{Timing: results.TimingResponse, Step: 3, Member: member}, Histogram: h,
			Start: time.Unix(5, 6).UTC(), End: time.Unix(7, 8).UTC(),
		}
		m, err := e.Member(want)
		if err != nil {
			t.Fatalf("encode the member: %v", err)
		}
		got, err := d.Member(sent(t, m, &pb.LoadMemberTotal{}))
		if err != nil || got.Series != want.Series || !got.Start.Equal(want.Start) || !got.End.Equal(want.End) || !got.Histogram.Equals(h) {
			t.Errorf("the member is %+v, error %v, want %+v", got, err, want)
		}
	}
}

// TestStepAndEnd: steps and their ends are the same after they were sent.
func TestStepAndEnd(t *testing.T) {
	f := &filler{}
	step := load.Step{Index: 4, Step: filled[workload.Step](f)}
	m, err := StepMessage(step)
	if err != nil {
		t.Fatalf("encode the step: %v", err)
	}
	if got, err := StepOf(sent(t, m, &pb.LoadStep{})); err != nil || got.Index != 4 || got.Step != step.Step {
		t.Errorf("the step is %+v, error %v, want %+v", got, err, step)
	}
	step.Rate = math.NaN()
	if _, err := StepMessage(step); err == nil {
		t.Error("a rate that JSON lacks was encoded")
	}
	for _, want := range []issuer.End{filled[issuer.End](f), {FirstSent: -1, CPU: -1}} {
		m, err := EndMessage(want)
		if err != nil {
			t.Fatalf("encode the end: %v", err)
		}
		if got, err := EndOf(m); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the end is\n%+v, error %v, want\n%+v", got, err, want)
		}
	}
	if _, err := EndOf([]byte(`{"Totals":{"offered":-}}`)); err == nil {
		t.Error("totals that are no JSON were decoded")
	}
}

// TestDecodeRefuses: a message that no encoder makes is an error.
func TestDecodeRefuses(t *testing.T) {
	var e Encoder
	if _, err := e.Second(load.Second{}); err == nil {
		t.Error("a second without rows was encoded")
	}
	odd := second(&filler{})
	odd.Latencies[0].Histogram = hdrhistogram.New(1, 1000, 3)
	if _, err := e.Second(odd); err == nil {
		t.Error("a histogram of another shape was encoded")
	}
	for name, change := range map[string]func(*pb.LoadSecond){
		"an empty row":           func(m *pb.LoadSecond) { m.Intervals[0] = nil },
		"a row of another type":  func(m *pb.LoadSecond) { m.Intervals[0] = []byte(`{"FromNS":1}`) },
		"a count that is a text": func(m *pb.LoadSecond) { m.Members[0] = []byte(`{"OK":"1"}`) },
		"an unknown outcome":     func(m *pb.LoadSecond) { m.Histograms[0].Outcome = "perhaps" },
		"a broken histogram":     func(m *pb.LoadSecond) { m.Histograms[0].V2 = m.Histograms[0].V2[1:] },
		"many histograms": func(m *pb.LoadSecond) {
			for range maxHistograms {
				m.Histograms = append(m.Histograms, m.Histograms[0])
			}
		},
	} {
		m, err := e.Second(second(&filler{}))
		if err != nil {
			t.Fatalf("encode the second: %v", err)
		}
		change(m)
		var d Decoder
		if _, err := d.Second(m); err == nil {
			t.Errorf("%s was decoded", name)
		}
	}
	var d Decoder
	for _, m := range []*pb.LoadMemberTotal{{}, {Timing: "response"}, {Timing: "some", V2: []byte("x")}} {
		if _, err := d.Member(m); err == nil {
			t.Errorf("a member from %v was decoded", m)
		}
	}
}
