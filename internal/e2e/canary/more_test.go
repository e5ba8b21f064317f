package canary

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/e2e/e2etest"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// partners has the PMS's token changed to one that can be recognised, and calls endpoints that fail, and say people's
// names and tokens as they do.
func (f *flows) partners() {
	f.t.Helper()
	f.PMS.Token = partnerToken
	f.learn("the token for the PMS", partnerToken)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/error":
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, `{"error":{"reason":"broken","message":"%s %s %s %s"}}`, last, email, mobile, partnerToken)
		case "/redirect":
			http.Redirect(w, r, "/x?token="+partnerToken+"&guest="+email, http.StatusFound)
		case "/garbage":
			_, _ = fmt.Fprintf(w, `[{"id":7,"name":"%s"`, last)
		default:
			panic(http.ErrAbortHandler)
		}
	}))
	f.t.Cleanup(broken.Close)
	villain := e2etest.ConnectApp(f.t, f.World, "Villain")
	f.learn("a client token", villain.Headers["client-token"])
	f.learn("an access token", villain.Headers["access-token"])
	for _, in := range []string{"query", "header"} {
		for _, at := range []string{broken.URL + "/error", broken.URL + "/redirect", broken.URL + "/garbage", broken.URL + "/cut", "http://127.0.0.1:1/", "http://user:" + partnerToken + "@127.0.0.1:1/"} {
			o := f.call(villain, "PATCH", "/v1/endpoints", map[string]any{"action": "getSpaces", "url": at, "token": partnerToken, "tokenIn": in})
			if s, _ := e2etest.ValueAt(map[string]any(o.Data()), "signingSecret").(string); s != "" {
				f.learn("a signing secret", s)
			}
			f.call(villain, "POST", "/v1/endpoints/getSpaces:test", map[string]any{})
		}
	}
}

// credentials are made, changed, used wrongly and revoked.
func (f *flows) credentials() {
	f.t.Helper()
	shown := func(o e2etest.Outcome, names ...string) {
		f.t.Helper()
		for _, n := range names {
			if v := texts(o.Raw, n); v != "" {
				f.learn(n, v)
				return
			}
		}
		f.t.Errorf("no credential in %v", o)
	}
	shown(f.call(f.Owner(), "POST", "/v1/property/apiKey:rotate", map[string]any{}), "apiKey")
	shown(f.call(f.Owner(), "POST", "/v1/property/integrations/"+f.IntegrationID+"/signingSecret:rotate", map[string]any{}), "signingSecret")
	socket := e2etest.Operator()
	shown(f.call(socket, "POST", "/v1/admin/properties/"+f.PropertyID+"/staffTokens", map[string]any{"name": holder, "role": "owner"}), "token")
	shown(f.call(socket, "POST", "/v1/admin/operatorTokens", map[string]any{"name": holder, "ttlMinutes": 10}), "token")
	f.call(e2etest.Anonymous(), "POST", "/v1/admin/operatorTokens", map[string]any{"name": holder})
}

// texts finds the first string under a name in JSON.
func texts(raw []byte, name string) string {
	_, rest, ok := strings.Cut(string(raw), `"`+name+`":"`)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// bridges are enrolled wrongly, and one is revoked.
func (f *flows) bridges() {
	f.t.Helper()
	ctx := f.t.Context()
	b, err := propertyv1.NewBridgeServiceClient(f.Public).CreateBridge(f.Staff(ctx), &propertyv1.CreateBridgeRequest{Name: "Attic"})
	if err != nil {
		f.t.Fatal(err)
	}
	f.learn("a join code", b.GetJoinCode())
	enrol := lockv1.NewEnrolmentServiceClient(f.Public)
	for _, code := range []string{b.GetJoinCode(), b.GetJoinCode() + "x", last, f.StaffToken} {
		_, err := enrol.Enroll(ctx, &lockv1.EnrollRequest{JoinCode: code, CertificateRequest: []byte(last), HpkePublicKey: []byte(email), Software: "canary"})
		o, wrong := e2etest.GRPCOutcome(err)
		if wrong != nil {
			f.t.Error(wrong)
		}
		f.out.failed("Enroll", o)
	}
	if _, err := propertyv1.NewBridgeServiceClient(f.Public).RevokeBridge(f.Staff(ctx), &propertyv1.RevokeBridgeRequest{Id: b.GetData().GetId()}); err != nil {
		f.t.Fatal(err)
	}
}

// unlocks opens doors from afar, and fails to.
func (f *flows) unlocks() {
	f.t.Helper()
	locks, err := propertyv1.NewLockServiceClient(f.Public).ListLocks(f.Staff(f.t.Context()), &propertyv1.ListLocksRequest{PageSize: 200})
	if err != nil {
		f.t.Fatal(err)
	}
	for i, l := range locks.GetData().GetList()[:3] {
		f.Site.SetJammed(l.GetAddress(), i == 1)
		f.Site.SetOffline(l.GetAddress(), i == 2)
		f.call(f.Owner(), "POST", "/v1/property/locks/"+l.GetId()+":unlock", map[string]any{})
		f.Site.SetJammed(l.GetAddress(), false)
		f.Site.SetOffline(l.GetAddress(), false)
		if err := f.Site.Inject(l.GetAddress(), sim.Fault{Kind: sim.Unconfirmed}); err != nil {
			f.t.Fatal(err)
		}
	}
}

// everyRPC calls all there is, over every protocol, with people in every text of the request.
func (f *flows) everyRPC() {
	f.t.Helper()
	for _, r := range e2etest.RPCs() {
		if r.Streams() || r.ProtoPackage() == "latchkey.lock.v1" && r.Desc.Parent().Name() == "BridgeService" || strings.HasPrefix(r.ProtoPackage(), "latchkey.pms") {
			continue
		}
		for i, text := range []string{last, email, mobile} {
			req := r.Request()
			fill(req.ProtoReflect(), text, 3)
			p := e2etest.Protocols[i]
			if p == e2etest.REST && len(r.Routes) == 0 {
				continue
			}
			for _, c := range []e2etest.Caller{f.Partner(), f.Owner(), e2etest.Operator(), e2etest.Anonymous()} {
				o, err := f.Call(f.t.Context(), p, c, r, proto.Clone(req))
				if err != nil && !strings.Contains(err.Error(), "envelope") && !strings.Contains(err.Error(), "proto") {
					f.t.Errorf("%s over %s: %v", r.Name, p, err)
				}
				f.out.failed(r.Name, o)
			}
		}
	}
}

// fill sets every text of a message.
func fill(m protoreflect.Message, text string, depth int) {
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		switch {
		case fd.IsMap():
		case fd.IsList() && fd.Kind() == protoreflect.StringKind:
			m.Mutable(fd).List().Append(protoreflect.ValueOfString(text))
		case fd.IsList() && fd.Message() != nil && depth > 0:
			fill(m.Mutable(fd).List().AppendMutable().Message(), text, depth-1)
		case fd.IsList():
		case fd.Kind() == protoreflect.StringKind:
			m.Set(fd, protoreflect.ValueOfString(text))
		case fd.Kind() == protoreflect.BytesKind:
			m.Set(fd, protoreflect.ValueOfBytes([]byte(text)))
		case fd.Message() != nil && depth > 0:
			fill(m.Mutable(fd).Message(), text, depth-1)
		}
	}
}
