package operator

import (
	"net/http"
	"strconv"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// tokenRow is a token in a list, with the form that revokes it.
type tokenRow struct {
	*adminv1.Token
	Own        bool   // the current session was opened with this token
	Role, Text string // message kinds: the role or "", and the effect of revoking the token
	Action     string // the URL that the form posts to
}

// tokenRows returns the rows of a list of tokens. action is the URL that their forms post to. text is the kind of the message about the
// effect of revoking a token. Own is not set.
func tokenRows(list []*adminv1.Token, action, text string) (rows []tokenRow) {
	for _, t := range list {
		row := tokenRow{Token: t, Action: action, Text: text}
		if t.Role != nil {
			row.Role = "operator.staffToken.role." + t.GetRole()
		}
		rows = append(rows, row)
	}
	return rows
}

type tokensView struct {
	Rows   []tokenRow
	Inputs []kit.Input
	Secret *shownSecret // a new operator token, or nil
}

// lifetimes are the offered lifetimes of a new token, in days. 0 means that the token does not expire.
var lifetimes = []kit.Option{
	{Value: "30", Kind: "operator.token.days30"}, {Value: "365", Kind: "operator.token.days365"}, {Value: "0", Kind: "operator.token.forever"},
}

// lifetime returns the posted lifetime in minutes. 0 means that the token does not expire. The form posts days; ok is false unless they are
// 0 to 365.
func (x *exchange) lifetime() (minutes int32, ok bool) {
	days, err := strconv.Atoi(x.Value("days"))
	return int32(days * 24 * 60), err == nil && days >= 0 && days <= 365
}

// tokenInputs returns the form fields of a new operator token.
func tokenInputs() []kit.Input {
	return []kit.Input{
		{Name: "name", Label: "operator.token.who", Hint: "operator.token.who.hint", Autocomplete: "off"},
		{Name: "days", Label: "operator.token.days", Options: lifetimes, Value: "30"},
	}
}

// showTokens handles GET /operator/tokens: the list of operator tokens.
func (s *site) showTokens(x *exchange) error {
	return x.tokensPage(http.StatusOK, tokensView{Inputs: tokenInputs()}, nil)
}

// tokensPage renders the list of operator tokens. f is why the API refused the posted form, or nil. An f that is not about the form is
// returned.
func (x *exchange) tokensPage(status int, v tokensView, f *fault.Fault) error {
	found, err := x.site.api.Tokens.ListOperatorTokens(x.call(), &adminv1.ListOperatorTokensRequest{})
	if err != nil {
		return err
	}
	v.Rows = tokenRows(found.GetData().GetList(), "/operator/tokens", "operator.tokens.revoke.text")
	for i := range v.Rows {
		if row := &v.Rows[i]; row.GetId() == x.session.GetOperatorToken().GetId() {
			row.Own, row.Text = true, "operator.tokens.revoke.own"
		}
	}
	p := x.areaPage("tokens")
	p.Data, p.secret = v, v.Secret != nil
	if f != nil && !refuse(p, f, v.Inputs) {
		return f
	}
	return x.render(status, "tokens", p)
}

// changeTokens handles the forms of the page. They create an operator token, which is shown once, or revoke one. Revoking the token of the
// current session ends the session. For an invalid lifetime it shows an error page.
func (s *site) changeTokens(x *exchange) error {
	switch x.Value("do") {
	case "create":
		minutes, ok := x.lifetime()
		if !ok {
			return x.problem(http.StatusBadRequest, "staff.problem.form")
		}
		made, err := s.api.Tokens.CreateOperatorToken(x.call(), &adminv1.CreateOperatorTokenRequest{Name: x.Value("name"), TtlMinutes: minutes})
		if err != nil {
			return x.tokensPage(http.StatusUnprocessableEntity, tokensView{Inputs: x.Posted(tokenInputs())}, s.Fault(err))
		}
		return x.tokensPage(http.StatusOK, tokensView{Inputs: tokenInputs(), Secret: &shownSecret{"operator.token", "operator.token.text", made.GetToken()}}, nil)
	case "revoke":
		if _, err := s.api.Tokens.RevokeOperatorToken(x.call(), &adminv1.RevokeOperatorTokenRequest{Id: x.Value("token")}); err != nil {
			return err
		}
		return x.Redirect("/operator/tokens?done=revoked")
	}
	return x.Redirect("/operator/tokens")
}
