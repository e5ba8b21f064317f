package staff

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/boombuler/barcode/qr"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// bridgeRow is one bridge with its state for a page.
type bridgeRow struct {
	*propertyv1.Bridge
	Chip   chip
	Remark remark
}

// newBridgeRow returns a bridge with the chip and the remark about its connection.
func newBridgeRow(b *propertyv1.Bridge) bridgeRow {
	r := bridgeRow{Bridge: b}
	switch b.GetState() {
	case "online":
		r.Chip, r.Remark = chip{"ok", "●", "staff.bridge.online"}, remark{Text: "staff.since", At: b.GetLinkSince()}
	case "offline":
		r.Chip, r.Remark = chip{"bad", "✕", "staff.bridge.offline"}, offlineRemark(b.GetOfflineReason(), b.GetLinkSince())
	case "waiting":
		r.Chip, r.Remark = chip{"info", "○", "staff.bridge.waiting"}, remark{Text: "staff.bridge.made", At: b.GetCreatedAt()}
	case "revoked":
		r.Chip = chip{"unknown", "◌", "staff.bridge.revoked"}
	default:
		r.Chip = chip{"unknown", "?", "staff.bridge.other"}
	}
	return r
}

type bridgesView struct {
	Rows    []bridgeRow
	Manages bool // the person may add bridges
}

// showBridges handles the list of bridges.
func (s *site) showBridges(x *exchange) error {
	found, err := s.api.Bridges.ListBridges(x.call(), &propertyv1.ListBridgesRequest{})
	if err != nil {
		return err
	}
	v := bridgesView{Manages: x.may("manageBridges")}
	for _, b := range found.GetData().GetList() {
		v.Rows = append(v.Rows, newBridgeRow(b))
	}
	p := x.newPage("staff.bridges.title")
	p.Here, p.Back, p.Data = "locks", "/app/locks", v
	return x.render(http.StatusOK, "bridges", p)
}

type bridgeView struct {
	bridgeRow
	URL     string // URL of the page of the bridge
	Manages bool   // the person may create join codes and revoke the bridge
}

// newBridgeView returns the data of the page of one bridge.
func newBridgeView(x *exchange, b *propertyv1.Bridge) bridgeView {
	return bridgeView{newBridgeRow(b), "/app/bridges/" + b.GetId(), x.may("manageBridges")}
}

// showBridge handles the page of one bridge.
func (s *site) showBridge(x *exchange) error {
	found, err := s.api.Bridges.ListBridges(x.call(), &propertyv1.ListBridgesRequest{})
	if err != nil {
		return err
	}
	list := found.GetData().GetList()
	at := slices.IndexFunc(list, func(b *propertyv1.Bridge) bool { return b.GetId() == x.R.PathValue("id") })
	if at < 0 {
		return fault.New(fault.NotFound, fault.BridgeNotFound, "there is no such bridge")
	}
	p := x.newPage("staff.bridge.title", "name", list[at].GetName())
	p.Here, p.Back, p.Data = "locks", "/app/bridges", newBridgeView(x, list[at])
	return x.render(http.StatusOK, "bridge", p)
}

// bridgeInputs returns the form fields of a new bridge.
func bridgeInputs() []kit.Input {
	return []kit.Input{{Name: "name", Label: "staff.bridge.name", Hint: "staff.bridge.name.hint", Autocomplete: "off"}}
}

// newBridgePage renders the form of a new bridge. f is why the API refused it, or nil. It returns f if f concerns no field of the form.
func (x *exchange) newBridgePage(status int, f *fault.Fault) error {
	p, inputs := x.newPage("staff.bridge.new"), bridgeInputs()
	p.Here, p.Back = "locks", "/app/bridges"
	if f != nil {
		if inputs = x.Posted(inputs); !p.Refuse(f, inputs) {
			return f
		}
	}
	return x.form(status, p, formView{Text: "staff.bridge.new.text", Inputs: inputs, Button: "staff.bridge.new.do"})
}

// showNewBridge handles the page with the form of a new bridge.
func (s *site) showNewBridge(x *exchange) error { return x.newBridgePage(http.StatusOK, nil) }

// createBridge handles the form of a new bridge. The response shows the join code of the bridge.
func (s *site) createBridge(x *exchange) error {
	made, err := s.api.Bridges.CreateBridge(x.call(), &propertyv1.CreateBridgeRequest{Name: x.Value("name")})
	if err != nil {
		if f := s.Fault(err); f.Kind == fault.Invalid {
			return x.newBridgePage(http.StatusUnprocessableEntity, f)
		}
		return err
	}
	return x.joinPage(made.GetData(), made.GetJoinCode(), made.GetJoinCodeExpiresAt())
}

// joinView is the page of a join code, which is shown only once.
type joinView struct {
	Bridge    bridgeView
	URL, Code string
	EndsAt    *timestamppb.Timestamp
	QR        kit.QR
	Server    string // the address and port at which bridges enrol
	Plaintext bool   // the bridge must enrol without TLS
}

// joinPage renders a new join code with the commands that connect the bridge. No later page shows code. ends is when it expires.
func (x *exchange) joinPage(b *propertyv1.Bridge, code string, ends *timestamppb.Timestamp) error {
	v := joinView{Bridge: newBridgeView(x, b), URL: "/app/bridges/" + b.GetId(), Code: code, EndsAt: ends, QR: kit.DrawQR(code, qr.M, qr.Auto)}
	browsed, err := url.Parse(x.Address(""))
	if err != nil {
		return err
	}
	v.Server, v.Plaintext = x.site.api.EnrolmentAddress(browsed.Hostname())
	p := x.newPage("staff.join.title", "name", b.GetName())
	p.Here, p.Back, p.Data, p.secret = "locks", "/app/bridges", v, true
	return x.render(http.StatusOK, "join", p)
}

// changeBridge handles the forms of a bridge's page. They create another join code, which replaces the former one, or revoke the bridge.
func (s *site) changeBridge(x *exchange) error {
	id := x.R.PathValue("id")
	switch x.Value("do") {
	case "join":
		made, err := s.api.Bridges.CreateJoinCode(x.call(), &propertyv1.CreateJoinCodeRequest{Id: id})
		if err != nil {
			return err
		}
		return x.joinPage(made.GetData(), made.GetJoinCode(), made.GetJoinCodeExpiresAt())
	case "revoke":
		if _, err := s.api.Bridges.RevokeBridge(x.call(), &propertyv1.RevokeBridgeRequest{Id: id}); err != nil {
			return err
		}
		return x.Redirect("/app/bridges?done=bridgeRevoked")
	}
	return x.Redirect("/app/bridges/" + id)
}
