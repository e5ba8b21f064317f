package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/e2e/e2etest"
)

// target is an RPC with a request that is right.
type target struct {
	e2etest.RPC
	as   e2etest.Caller
	json []byte // of the whole request
	raw  []byte // the same in protobuf
}

// lasting are the RPCs that would end the credentials or the bridge of the world if they named its own ids.
var lasting = []string{"RevokeAccessToken", "RotateAccessToken", "RevokeBridge", "CreateJoinCode", "UpdateIntegration", "RevokeStaffToken", "DeleteGate", "DeleteSpace", "DeleteProperty", "ResetKiosk", "DeleteKiosk", "EndDevice"}

// targets are all RPCs that are not streams.
func targets(t testing.TB, a *tenant) []target {
	t.Helper()
	var out []target
	for _, r := range e2etest.RPCs() {
		if r.Desc.Name() == "EndSession" || r.Desc.Name() == "SignOutEverywhere" {
			continue // it ends the session with which the other calls are tried
		}
		if r.Streams() || r.ProtoPackage() == "latchkey.lock.v1" && r.Desc.Parent().Name() == "BridgeService" {
			continue
		}
		text := probes[r.Name]
		if text == "" || slices.Contains(lasting, string(r.Desc.Name())) {
			text = strings.Replace(matrix[r.Name].body, untouched, "{}", 1)
		}
		as := map[string]e2etest.Caller{"partner": a.Partner(), "property": a.Owner(), "person": a.person.at(a.PropertyID), "admin": e2etest.Operator(), "enrol": e2etest.Anonymous(), "guest": e2etest.Anonymous(), "session": a.guest(), "kiosk": a.kiosk()}[matrix[r.Name].area]
		req := a.fill(t, r, text)
		raw, err := proto.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		for kind, v := range a.ids {
			text = strings.ReplaceAll(text, "{"+kind+"}", v)
		}
		out = append(out, target{r, as, []byte(text), raw})
	}
	return out
}

// elsewhere are the outcomes that no caller causes and that are still right: the partner or the bridge is unreachable.
var elsewhere = []string{"partnerUnavailable", "bridgeOffline"}

// survives fails if an answer is one that no input may cause.
func survives(t *testing.T, what string, o e2etest.Outcome, err error) {
	t.Helper()
	switch {
	case err != nil:
		t.Errorf("%s: %v", what, err)
	case o.Code == codes.Internal, o.Code == codes.Unknown, o.Code == codes.DataLoss, o.Code == codes.DeadlineExceeded, o.Code == codes.Unauthenticated && !strings.Contains(what, "SignIn"): // a wrong password is unauthenticated
		t.Errorf("%s: %s", what, o)
	case (o.HTTP >= 500 || o.Code == codes.Unavailable) && !slices.Contains(elsewhere, o.Reason):
		t.Errorf("%s: %s", what, o)
	}
}

// jsonly sends JSON over REST and over Connect. tail goes into the path and the query.
func jsonly(t *testing.T, a *tenant, x target, content []byte, tail string) {
	t.Helper()
	ctx := context.Background()
	tail = tail[:min(len(tail), 1000)] // net/http itself answers a longer header
	if len(x.Routes) > 0 {
		rt := x.Routes[0]
		path := oddPath(rt.Path, tail)
		o, err := a.HTTPCall(ctx, x.as, rt.Verb, path, "application/json", restBody(rt, content))
		if err == nil {
			err = o.ReadEnvelope()
		}
		survives(t, fmt.Sprintf("%s %.300s %.300q", rt.Verb, path, content), o, err)
	}
	o, err := a.HTTPCall(ctx, x.as, http.MethodPost, "/"+x.Name, "application/json", content)
	if err == nil {
		err = o.ReadConnect(x.RPC)
	}
	if len(x.Routes) > 0 {
		survives(t, fmt.Sprintf("Connect %s %.300q", x.Name, content), o, err)
	}
}

// oddPath puts a text where ids are, and behind as a query.
func oddPath(path, tail string) string {
	for strings.Contains(path, "{") {
		i, j := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		id := tail
		if id == "" || strings.ContainsAny(id, "/.") {
			id = "x"
		}
		path = path[:i] + url.PathEscape(id) + path[j+1:]
	}
	return path + "?page[limit]=" + url.QueryEscape(tail) + "&filter[type]=" + url.QueryEscape(tail) + "&pageToken=" + url.QueryEscape(tail) +
		"&pmsId=" + url.QueryEscape(tail) + "&extend=" + url.QueryEscape(tail) + "&updatedSince=" + url.QueryEscape(tail)
}

// restBody is the part of a request that a route takes as its body.
func restBody(rt e2etest.Route, content []byte) []byte {
	if rt.Body == "" {
		return nil
	}
	var whole map[string]json.RawMessage
	if rt.Body != "*" && json.Unmarshal(content, &whole) == nil && whole[rt.Body] != nil {
		return whole[rt.Body]
	}
	return content
}

// rawly sends protobuf over gRPC and over Connect.
func rawly(t *testing.T, a *tenant, x target, raw []byte) {
	t.Helper()
	ctx := context.Background()
	o, err := a.CallRaw(ctx, x.as, x.RPC, raw)
	survives(t, fmt.Sprintf("gRPC %s %x", x.Name, raw), o, err)
	if len(x.Routes) == 0 {
		return
	}
	o, err = a.HTTPCall(ctx, x.as, http.MethodPost, "/"+x.Name, "application/proto", raw)
	if err == nil && o.HTTP == http.StatusOK {
		o.Code = codes.OK
	} else if err == nil {
		err = o.ReadConnect(x.RPC)
	}
	survives(t, fmt.Sprintf("Connect %s %x", x.Name, raw), o, err)
}

// TestOddInput sends every RPC a fixed share of odd requests; make fuzz goes on from there.
func TestOddInput(t *testing.T) {
	a := furnish(t, e2etest.Open(t))
	for i, x := range targets(t, a) {
		t.Run(strings.TrimPrefix(x.Name, "latchkey."), func(t *testing.T) {
			o := newOdd(uint64(i))
			for range 15 {
				jsonly(t, a, x, o.json(x.json), pick(o, oddTexts))
				rawly(t, a, x, o.proto(x.Request(), x.raw))
			}
		})
	}
	e2etest.PartnerView(t, a.World) // and it all still works
}

// fuzzed is the world of a fuzzing process, which ends with it.
func fuzzed(f *testing.F) func(t *testing.T) (*tenant, []target) {
	var once sync.Once
	var a *tenant
	var all []target
	return func(*testing.T) (*tenant, []target) {
		once.Do(func() {
			w := e2etest.Open(f)
			a = furnish(f, w)
			all = targets(f, a)
		})
		return a, all
	}
}

func FuzzJSON(f *testing.F) {
	world := fuzzed(f)
	_, all := world(nil)
	for i, x := range all {
		f.Add(uint8(i), x.json, "1") // fewer than 256 RPCs, or the index wraps
	}
	f.Fuzz(func(t *testing.T, n uint8, content []byte, tail string) {
		a, all := world(t)
		jsonly(t, a, all[int(n)%len(all)], content, tail)
	})
}

func FuzzProto(f *testing.F) {
	world := fuzzed(f)
	_, all := world(nil)
	for i, x := range all {
		f.Add(uint8(i), x.raw)
	}
	f.Fuzz(func(t *testing.T, n uint8, raw []byte) {
		a, all := world(t)
		rawly(t, a, all[int(n)%len(all)], raw)
	})
}
