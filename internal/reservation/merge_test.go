package reservation

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func berlin(t testing.TB) Hours {
	return Hours{Zone: zone(t, "Europe/Berlin"), CheckIn: "15:00", CheckOut: "11:00"}
}

func ptr[T any](v T) *T { return &v }

// least is the smallest patch that creates a reservation.
func least() Patch {
	return Patch{PMSID: "A1", Number: "1", LastName: "Lovelace", State: "confirmed", FromDate: "2026-12-01", ToDate: "2026-12-03"}
}

func plus(p Patch, more Patch) Patch {
	p = maps.Clone(p)
	maps.Copy(p, more)
	return p
}

// A name of invisible characters, which was stored before it was refused, does not block a cancelation.
func TestBlankStoredTextBlocksNoChange(t *testing.T) {
	held, wrong := Merge(nil, least(), berlin(t), now)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	held.Number, held.Booker.LastName = "\u200b", "\u200b"
	if _, wrong := Merge(&held, Patch{PMSID: "A1", State: "canceled"}, berlin(t), now); len(wrong) > 0 {
		t.Errorf("refused: %v", wrong)
	}
}

func without(p Patch, f Field) Patch {
	p = maps.Clone(p)
	delete(p, f)
	return p
}

// merged merges patches one after the other, of which only the last may be wrong.
func merged(t testing.TB, patches ...Patch) (Record, []string) {
	t.Helper()
	var held *Record
	for i, p := range patches {
		r, wrong := Merge(held, p, berlin(t), now)
		var got []string
		for _, w := range wrong {
			got = append(got, w.Path+" "+string(w.Reason))
		}
		if i == len(patches)-1 {
			return r, got
		}
		if got != nil {
			t.Fatalf("patch %d: %v", i, got)
		}
		held = &r
	}
	panic("no patch")
}

// A new instant replaces its day. An answer has both forms of each pair, and can be sent back unchanged.
func TestInstantWinsOverItsDay(t *testing.T) {
	got, wrong := merged(t, least(), Patch{PMSID: "A1", From: "2026-11-30T23:15:00Z", FromDate: "2026-12-01", To: "2026-12-03T11:00:00+01:00", ToDate: "2026-12-03"})
	want := []any{[]string(nil), (*string)(nil), ptr("2026-12-03"), time.Date(2026, 11, 30, 23, 15, 0, 0, time.UTC), time.Date(2026, 12, 3, 10, 0, 0, 0, time.UTC)}
	if d := cmp.Diff(want, []any{wrong, got.FromDate, got.ToDate, got.From, got.To}); d != "" {
		t.Error(d)
	}
}

func TestMergeCreates(t *testing.T) {
	got, wrong := merged(t, plus(least(), Patch{
		GroupID: "G", SpaceID: "b", ParentID: "r", CompanionIDs: []string{"c1"}, PMSUpdatedAt: now, FirstName: "Ada", Email: "ada@example.com",
		Mobile: "+49 30 1", Adults: 0, Children: 2, Price: 120.5, Owing: 0.0, Currency: "EUR", SourceName: "s", ChannelManager: "m", ChannelNumber: "n",
	}))
	if wrong != nil {
		t.Fatal(wrong)
	}
	want := Record{
		PMSID: "A1", GroupID: ptr("G"), SpaceID: ptr("b"), ParentID: ptr("r"), CompanionIDs: []string{"c1"}, PMSUpdatedAt: &now,
		Number: "1", Booker: Booker{FirstName: ptr("Ada"), LastName: "Lovelace", Email: ptr("ada@example.com"), Mobile: ptr("+49 30 1")}, State: access.Confirmed,
		FromDate: ptr("2026-12-01"), ToDate: ptr("2026-12-03"),
		From: time.Date(2026, 12, 1, 14, 0, 0, 0, time.UTC), To: time.Date(2026, 12, 3, 10, 0, 0, 0, time.UTC),
		Adults: ptr(0), Children: ptr(2), Price: ptr(int64(12050)), Owing: ptr(int64(0)), Currency: ptr("EUR"),
		SourceName: ptr("s"), ChannelManager: ptr("m"), ChannelNumber: ptr("n"),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Every wrong field is named at once.
func TestMergeReturnsWrongFields(t *testing.T) {
	for _, c := range []struct {
		name    string
		patches []Patch
		want    []string
	}{
		{"nothing sent", []Patch{{}}, []string{
			"pmsMeta.id required", "pmsNumber required", "booker.lastName required", "state required", "from required", "to required"}},
		{"spaces are nothing", []Patch{plus(least(), Patch{PMSID: " ", Number: "\t", LastName: "  "})},
			[]string{"pmsMeta.id required", "pmsNumber required", "booker.lastName required"}},
		{"blank is nothing", []Patch{plus(least(), Patch{PMSID: " ", Number: "\t\u00a0", LastName: "\u200b\ufeff\u00ad\u2060"})},
			[]string{"pmsMeta.id required", "pmsNumber required", "booker.lastName required"}},
		{"a required field cleared", []Patch{least(), {PMSID: "A1", Number: nil, LastName: nil, State: nil}},
			[]string{"pmsNumber required", "booker.lastName required", "state required"}},
		{"an unknown state", []Patch{plus(least(), Patch{State: "checkedIn"})}, []string{"state wrongValue"}},
		{"no email address", []Patch{plus(least(), Patch{Email: "Ada <ada@example.com>"})}, []string{"booker.email badFormat"}},
		{"neither of each pair", []Patch{without(without(least(), FromDate), ToDate)}, []string{"from required", "to required"}},
		{"the only form cleared", []Patch{least(), {PMSID: "A1", FromDate: nil}}, []string{"from required"}},
		{"no offset", []Patch{plus(without(least(), FromDate), Patch{From: "2026-12-01T15:00:00"})}, []string{"from badFormat"}},
		{"an offset that no clock has", []Patch{plus(without(least(), FromDate), Patch{From: "2026-12-01T15:00:00+24:00"})}, []string{"from badFormat"}},
		{"letters in lower case", []Patch{plus(without(least(), FromDate), Patch{From: "2026-12-01t15:00:00z"})}, nil},
		{"a moment and another day", []Patch{plus(least(), Patch{From: "2026-12-01T23:30:00Z", To: "2026-12-03T11:00:00+01:00", ToDate: "2026-12-04"})},
			[]string{"from conflicting", "to conflicting"}},
		{"a moment and a day that is none", []Patch{plus(least(), Patch{From: "2026-12-01T15:00:00+01:00", FromDate: "1.12.2026"})}, []string{"fromDate badFormat"}},
		{"no day", []Patch{plus(least(), Patch{FromDate: "2026-02-30", ToDate: "1.3.2026"})}, []string{"fromDate badFormat", "toDate badFormat"}},
		{"a year that is a slip", []Patch{plus(least(), Patch{FromDate: "0026-12-01", ToDate: "2206-12-03"})}, []string{"fromDate outOfRange", "toDate outOfRange"}},
		{"days the wrong way round", []Patch{plus(least(), Patch{FromDate: "2026-12-04"})}, []string{"fromDate datesNotValid"}},
		{"instants the wrong way round", []Patch{plus(without(least(), FromDate), Patch{From: "2026-12-04T00:00:00Z"})}, []string{"from datesNotValid"}},
		{"less than a second", []Patch{plus(least(), Patch{From: "2026-12-01T20:00:00.2Z", FromDate: nil, To: "2026-12-01T20:00:00.7Z", ToDate: nil})}, []string{"from datesNotValid"}},
		{"one day", []Patch{plus(least(), Patch{ToDate: "2026-12-01"})}, []string{"fromDate datesNotValid"}},
		{"an end before the held beginning", []Patch{least(), {PMSID: "A1", ToDate: "2026-11-30"}}, []string{"toDate datesNotValid"}},
		{"an end as a moment before the held beginning", []Patch{least(), {PMSID: "A1", To: "2026-11-30T10:00:00Z"}}, []string{"to datesNotValid"}},
		{"a beginning after the held end", []Patch{least(), {PMSID: "A1", From: "2027-11-30T10:00:00Z"}}, []string{"from datesNotValid"}},
		{"a clock that is ahead", []Patch{plus(least(), Patch{PMSUpdatedAt: now.Add(maxClockAhead + time.Second)})}, []string{"pmsMeta.updatedAt inFuture"}},
		{"two beds", []Patch{plus(least(), Patch{SpaceID: "a", BedID: "b"})}, []string{"bedId conflicting"}},
		{"two rooms", []Patch{plus(least(), Patch{ParentID: "a", RoomID: "b"})}, []string{"roomId conflicting"}},
		{"our space and theirs", []Patch{plus(least(), Patch{OwnSpaceID: "spc_1", RoomID: "b"})}, []string{"parentSpaceId conflicting"}},
		{"owing of no currency", []Patch{plus(least(), Patch{Owing: 1.0})}, []string{"owingCurrency required"}},
		{"the currency cleared under owing", []Patch{plus(least(), Patch{Owing: 1.0, Currency: "EUR"}), {PMSID: "A1", Currency: nil}}, []string{"owingCurrency required"}},
		{"no currency", []Patch{plus(least(), Patch{Owing: 1.0, Currency: "eur"})}, []string{"owingCurrency wrongValue"}},
		{"a third decimal", []Patch{plus(least(), Patch{Owing: 1.001, Price: 2.005, Currency: "EUR"})}, []string{"price outOfRange", "owing outOfRange"}},
		{"half a yen", []Patch{plus(least(), Patch{Owing: 100.5, Currency: "JPY"})}, []string{"owing outOfRange"}},
		{"a fourth decimal of no currency", []Patch{plus(least(), Patch{Price: 1.0001})}, []string{"price outOfRange"}},
		{"a held amount the new currency cannot say", []Patch{plus(least(), Patch{Price: 1.25, Currency: "EUR"}), {PMSID: "A1", Currency: "JPY"}}, []string{"price outOfRange"}},
		{"from all corners", []Patch{{PMSID: "A1", State: "in", LastName: "L", Email: "@", From: "x", FromDate: "y", Owing: 1.0, SpaceID: "a", BedID: "b"}},
			[]string{"pmsNumber required", "booker.email badFormat", "state wrongValue", "bedId conflicting", "from badFormat", "fromDate badFormat", "to required", "owingCurrency required"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, got := merged(t, c.patches...); !cmp.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The error of a stay that begins and ends on one day says how to send it.
func TestStayOfOneDayIsExplained(t *testing.T) {
	for day, explained := range map[string]bool{"2026-12-01": true, "2026-11-30": false} {
		_, wrong := Merge(nil, plus(least(), Patch{ToDate: day}), berlin(t), now)
		if len(wrong) != 1 || strings.Contains(wrong[0].Message, "as moments, in from and to") != explained {
			t.Errorf("until %s: %v", day, wrong)
		}
	}
}

func TestMergeReplacesAliases(t *testing.T) {
	bed := plus(least(), Patch{SpaceID: "bed", ParentID: "dorm"})
	room := plus(least(), Patch{ParentID: "room"})
	own := plus(least(), Patch{OwnSpaceID: "spc_1"})
	paid := plus(least(), Patch{Price: 120.5, Owing: 20.0, Currency: "EUR"})
	id := Patch{PMSID: "A1"}
	space := func(r Record) string {
		return strings.Join([]string{db.OrZero(r.SpaceID), db.OrZero(r.ParentID), db.OrZero(r.OwnSpaceID)}, "/")
	}
	money := func(r Record) [3]any {
		return [3]any{db.OrZero(r.Price), db.OrZero(r.Owing), db.OrZero(r.Currency)}
	}
	times := func(r Record) []string {
		return []string{r.From.Format(time.RFC3339), db.OrZero(r.FromDate), r.To.Format(time.RFC3339), db.OrZero(r.ToDate)}
	}
	for _, c := range []struct {
		name        string
		first, then Patch
		of          func(Record) any
		want        any
	}{
		{"another bed of the dorm", bed, plus(id, Patch{SpaceID: "bed2"}), any1(space), "bed2/dorm/"},
		{"by its other name", bed, plus(id, Patch{BedID: "bed2"}), any1(space), "bed2/dorm/"},
		{"both names, one value", bed, plus(id, Patch{BedID: "bed2", SpaceID: "bed2"}), any1(space), "bed2/dorm/"},
		{"a room alone is a private room", bed, plus(id, Patch{RoomID: "room"}), any1(space), "/room/"},
		{"the same room alone changes nothing", bed, plus(id, Patch{RoomID: "dorm"}), any1(space), "bed/dorm/"},
		{"a bed after a private room", room, plus(id, Patch{BedID: "bed"}), any1(space), "bed//"},
		{"bed and dorm after a private room", room, plus(id, Patch{BedID: "bed", RoomID: "dorm"}), any1(space), "bed/dorm/"},
		{"no bed any more", bed, plus(id, Patch{SpaceID: nil}), any1(space), "/dorm/"},
		{"empty is no bed", bed, plus(id, Patch{BedID: ""}), any1(space), "/dorm/"},
		{"nowhere", bed, plus(id, Patch{SpaceID: nil, RoomID: nil}), any1(space), "//"},
		{"ours replaces theirs", bed, plus(id, Patch{OwnSpaceID: "spc_1"}), any1(space), "//spc_1"},
		{"ours, theirs cleared", bed, plus(id, Patch{OwnSpaceID: "spc_1", SpaceID: nil, ParentID: nil}), any1(space), "//spc_1"},
		{"theirs replaces ours", own, plus(id, Patch{RoomID: "room"}), any1(space), "/room/"},
		{"ours cleared", own, plus(id, Patch{OwnSpaceID: nil}), any1(space), "//"},
		{"absent keeps", own, id, any1(space), "//spc_1"},

		{"owing paid", paid, plus(id, Patch{Owing: 0.0}), any1(money), [3]any{int64(12050), int64(0), "EUR"}},
		{"owing cleared", paid, plus(id, Patch{Owing: nil}), any1(money), [3]any{int64(12050), int64(0), "EUR"}},
		{"money cleared", paid, plus(id, Patch{Owing: nil, Price: nil, Currency: nil}), any1(money), [3]any{int64(0), int64(0), ""}},
		{"to a currency with three decimals", paid, plus(id, Patch{Currency: "KWD"}), any1(money), [3]any{int64(120500), int64(20000), "KWD"}},
		{"to a currency with none, amounts sent", paid, plus(id, Patch{Currency: "JPY", Price: 500.0, Owing: -3.0}), any1(money), [3]any{int64(500), int64(-3), "JPY"}},
		{"a price before its currency", plus(least(), Patch{Price: 120.5}), plus(id, Patch{Currency: "EUR"}), any1(money), [3]any{int64(12050), int64(0), "EUR"}},

		{"an instant replaces a day", least(), plus(id, Patch{From: "2026-12-01T20:00:00+01:00"}), any1(times),
			[]string{"2026-12-01T19:00:00Z", "", "2026-12-03T10:00:00Z", "2026-12-03"}},
		{"an instant replaces a day that is cleared", least(), plus(id, Patch{From: "2026-12-01T20:00:00+01:00", FromDate: nil}), any1(times),
			[]string{"2026-12-01T19:00:00Z", "", "2026-12-03T10:00:00Z", "2026-12-03"}},
		{"a day replaces an instant", plus(without(least(), FromDate), Patch{From: "2026-12-01T20:00:00+01:00"}), plus(id, Patch{FromDate: "2026-12-02"}), any1(times),
			[]string{"2026-12-02T14:00:00Z", "2026-12-02", "2026-12-03T10:00:00Z", "2026-12-03"}},
		{"the held instant changes nothing", least(), plus(id, Patch{From: "2026-12-01T14:00:00Z", To: "2026-12-03T12:00:00+02:00"}), any1(times),
			[]string{"2026-12-01T14:00:00Z", "2026-12-01", "2026-12-03T10:00:00Z", "2026-12-03"}},
		{"the held instant replaces a day that is cleared", least(), plus(id, Patch{From: "2026-12-01T14:00:00Z", FromDate: nil}), any1(times),
			[]string{"2026-12-01T14:00:00Z", "", "2026-12-03T10:00:00Z", "2026-12-03"}},
		{"a held instant sent back", plus(without(least(), FromDate), Patch{From: "2026-12-01T20:00:00+01:00"}), plus(id, Patch{From: "2026-12-01T20:00:00+01:00"}), any1(times),
			[]string{"2026-12-01T19:00:00Z", "", "2026-12-03T10:00:00Z", "2026-12-03"}},
		{"clearing the form that is not held", least(), plus(id, Patch{From: nil, To: nil}), any1(times),
			[]string{"2026-12-01T14:00:00Z", "2026-12-01", "2026-12-03T10:00:00Z", "2026-12-03"}},
		{"fractions of a second go", least(), plus(id, Patch{To: "2026-12-03T10:05:00.9876543Z"}), any1(func(r Record) time.Time { return r.To }),
			time.Date(2026, 12, 3, 10, 5, 0, 0, time.UTC)},

		{"0 is a count", plus(least(), Patch{Adults: 2}), plus(id, Patch{Adults: 0}), any1(func(r Record) *int { return r.Adults }), ptr(0)},
		{"a count cleared", plus(least(), Patch{Adults: 2}), plus(id, Patch{Adults: nil}), any1(func(r Record) *int { return r.Adults }), (*int)(nil)},
		{"companions replaced", plus(least(), Patch{CompanionIDs: []string{"a", "b"}}), plus(id, Patch{CompanionIDs: []string{"c"}}), any1(func(r Record) []string { return r.CompanionIDs }), []string{"c"}},
		{"companions cleared", plus(least(), Patch{CompanionIDs: []string{"a"}}), plus(id, Patch{CompanionIDs: []string{}}), any1(func(r Record) []string { return r.CompanionIDs }), []string(nil)},
		{"the PMS's clock cleared", plus(least(), Patch{PMSUpdatedAt: now}), plus(id, Patch{PMSUpdatedAt: nil}), any1(func(r Record) *time.Time { return r.PMSUpdatedAt }), (*time.Time)(nil)},
		{"a clock at the edge", least(), plus(id, Patch{PMSUpdatedAt: now.Add(maxClockAhead)}), any1(func(r Record) time.Time { return *r.PMSUpdatedAt }), now.Add(maxClockAhead)},
		{"what people wrote is kept unchanged", least(), plus(id, Patch{LastName: " de la Cruz "}), any1(func(r Record) string { return r.LastName }), " de la Cruz "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, wrong := merged(t, c.first, c.then)
			if wrong != nil {
				t.Fatal(wrong)
			}
			if d := cmp.Diff(c.want, c.of(r)); d != "" {
				t.Error(d)
			}
		})
	}
}

func any1[T any](f func(Record) T) func(Record) any { return func(r Record) any { return f(r) } }

// Every change completes days with the property's current hours.
func TestMergeFollowsTheHours(t *testing.T) {
	held, _ := merged(t, least())
	h := berlin(t)
	h.CheckIn, h.CheckOut = "16:30", "10:00"
	r, wrong := Merge(&held, Patch{PMSID: "A1"}, h, now)
	if wrong != nil || r.From.Format(time.RFC3339) != "2026-12-01T15:30:00Z" || r.To.Format(time.RFC3339) != "2026-12-03T09:00:00Z" {
		t.Errorf("%v to %v, %v", r.From, r.To, wrong)
	}
}

// Hours that leave a stay no time complete its days once a change leaves it some.
func TestMergeFollowsTheHoursIfTheyLeaveTime(t *testing.T) {
	h := berlin(t)
	h.CheckIn, h.CheckOut = "10:00", "18:00"
	held, wrong := Merge(nil, plus(least(), Patch{ToDate: "2026-12-01"}), h, now)
	if wrong != nil {
		t.Fatal(wrong)
	}
	h = berlin(t)
	for name, p := range map[string]Patch{
		"another beginning":           {PMSID: "A1", From: "2026-12-01T08:00:00+01:00"},
		"one that the old hours bear": {PMSID: "A1", FromDate: "2026-11-30"},
	} {
		if r, wrong := Merge(&held, p, h, now); wrong != nil || r.To.Format(time.RFC3339) != "2026-12-01T10:00:00Z" {
			t.Errorf("%s: %v to %v, %v; want the end by the hours of now", name, r.From, r.To, wrong)
		}
	}
	if r, wrong := Merge(&held, Patch{PMSID: "A1", State: "started"}, h, now); wrong != nil || !r.To.Equal(held.To) {
		t.Errorf("%v to %v, %v; want what it had", r.From, r.To, wrong)
	}
}

// patches draws a patch in order: values that are valid by themselves, each field named or not, optional ones cleared.
func patches(t *rapid.T) Patch {
	p := Patch{PMSID: "A1"}
	for _, f := range []Field{GroupID, FirstName, Mobile, SourceName, ChannelManager, ChannelNumber} {
		switch rapid.IntRange(0, 2).Draw(t, string(f)) {
		case 0:
			p[f] = nil
		case 1:
			p[f] = rapid.StringMatching(`[a-zA-Z0-9 ]{0,6}`).Draw(t, string(f)+" value")
		}
	}
	for _, f := range []Field{Number, LastName} {
		if rapid.Bool().Draw(t, string(f)) {
			p[f] = rapid.StringMatching(`[a-z]{1,5}`).Draw(t, string(f)+" value")
		}
	}
	if rapid.Bool().Draw(t, "state") {
		p[State] = rapid.SampledFrom([]string{"enquired", "confirmed", "started", "processed", "canceled"}).Draw(t, "state value")
	}
	for _, f := range []Field{SpaceID, RoomID} {
		switch rapid.IntRange(0, 2).Draw(t, string(f)) {
		case 0:
			p[f] = nil
		case 1:
			p[f] = rapid.SampledFrom([]string{"x", "y"}).Draw(t, string(f)+" value")
		}
	}
	if rapid.Bool().Draw(t, "money") {
		p[Currency] = "EUR"
		p[Owing] = float64(rapid.IntRange(-100000, 100000).Draw(t, "cents")) / 100
	}
	if rapid.Bool().Draw(t, "days") {
		p[FromDate] = now.AddDate(0, 0, rapid.IntRange(0, 3).Draw(t, "from")).Format(time.DateOnly)
		p[ToDate] = now.AddDate(0, 0, rapid.IntRange(4, 8).Draw(t, "to")).Format(time.DateOnly)
	}
	return p
}

// The same patch twice is as once; a patch changes only what it names; and whole amounts of cents survive the float.
func TestMergeProperties(t *testing.T) {
	first, wrong := merged(t, least())
	if wrong != nil {
		t.Fatal(wrong)
	}
	h := berlin(t)
	rapid.Check(t, func(t *rapid.T) {
		held := first
		for range rapid.IntRange(1, 4).Draw(t, "patches") {
			p := patches(t)
			once, wrong := Merge(&held, p, h, now)
			if wrong != nil {
				t.Fatalf("%v: %v", p, wrong)
			}
			twice, wrong := Merge(&once, p, h, now)
			if wrong != nil || !reflect.DeepEqual(once, twice) {
				t.Fatalf("%v twice: %v\n%s", p, wrong, cmp.Diff(once, twice))
			}
			if same, _ := Merge(&once, Patch{PMSID: "A1"}, h, now); !reflect.DeepEqual(once, same) {
				t.Fatalf("an empty patch changes\n%s", cmp.Diff(once, same))
			}
			unnamed(t, p, held, once)
			if v, ok := p[Owing].(float64); ok && Decimal(*once.Owing, "EUR") != Decimal(int64(v*1000+sign(v)*0.5)/10, "EUR") {
				t.Fatalf("%v became %d", v, *once.Owing)
			}
			held = once
		}
	})
}

func sign(v float64) float64 {
	if v < 0 {
		return -1
	}
	return 1
}

func unnamed(t *rapid.T, p Patch, before, after Record) {
	for f, of := range map[Field]func(Record) any{
		GroupID: any1(func(r Record) *string { return r.GroupID }), FirstName: any1(func(r Record) *string { return r.FirstName }),
		Number: any1(func(r Record) string { return r.Number }), State: any1(func(r Record) access.State { return r.State }),
		Owing: any1(func(r Record) *int64 { return r.Owing }), FromDate: any1(func(r Record) time.Time { return r.From }),
		ToDate: any1(func(r Record) time.Time { return r.To }), Mobile: any1(func(r Record) *string { return r.Mobile }),
	} {
		if _, named := p[f]; !named && !reflect.DeepEqual(of(before), of(after)) {
			t.Fatalf("%s was not named and changed from %v to %v", f, of(before), of(after))
		}
	}
}

func TestFieldErrorsAreUnique(t *testing.T) {
	early := []fault.Field{{Path: "from", Reason: fault.WrongType}}
	err := fieldErrors(early, []fault.Field{{Path: "from", Reason: fault.Required}, {Path: "to", Reason: fault.Required}})
	f, ok := fault.Of(err)
	if !ok || f.Reason != fault.InvalidFields || len(f.Fields) != 2 || f.Fields[0].Reason != fault.WrongType {
		t.Errorf("got %+v", err)
	}
	if f, _ := fault.Of(fieldErrors(nil, []fault.Field{{Path: "from", Reason: fault.DatesNotValid}})); f == nil || f.Reason != fault.DatesNotValid {
		t.Error("dates the wrong way round have a reason of their own")
	}
	if fieldErrors(nil, nil) != nil {
		t.Error("nothing wrong is an error")
	}
}
