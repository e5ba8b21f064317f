package operator

import (
	"net/http"
	"strconv"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

type tokensView struct {
	List   []*adminv1.Token
	Own    string // the id of the token that the session was opened with
	Inputs []kit.Input
	Secret *shownSecret
}

// lifetimes are the choices for how long a token is valid, in days.
var lifetimes = []kit.Option{
	{Value: "30", Kind: "operator.token.days30"}, {Value: "365", Kind: "operator.token.days365"}, {Value: "0", Kind: "operator.token.forever"},
}

func tokenInputs() []kit.Input {
	return []kit.Input{
		{Name: "name", Label: "operator.token.who", Hint: "operator.token.who.hint", Autocomplete: "off"},
		{Name: "days", Label: "operator.token.days", Options: lifetimes, Value: "30"},
	}
}

func (s *site) showTokens(x *exchange) error {
	return x.tokensPage(http.StatusOK, tokensView{Inputs: tokenInputs()}, nil)
}

func (x *exchange) tokensPage(status int, v tokensView, f *fault.Fault) error {
	found, err := x.site.api.Tokens.ListOperatorTokens(x.call(), &adminv1.ListOperatorTokensRequest{})
	if err != nil {
		return err
	}
	v.List, v.Own = found.GetData().GetList(), x.session.GetOperatorToken().GetId()
	p := x.areaPage("tokens")
	p.Data, p.secret = v, v.Secret != nil
	if f != nil && !refuse(p, f, v.Inputs) {
		return f
	}
	return x.render(status, "tokens", p)
}

// changeTokens creates an operator token, which the page shows once, or revokes one. Revoking the own one ends the session.
func (s *site) changeTokens(x *exchange) error {
	switch x.Value("do") {
	case "create":
		days, err := strconv.Atoi(x.Value("days"))
		if err != nil || days < 0 || days > 365 {
			return x.problem(http.StatusBadRequest, "staff.problem.form")
		}
		made, err := s.api.Tokens.CreateOperatorToken(x.call(), &adminv1.CreateOperatorTokenRequest{Name: x.Value("name"), TtlMinutes: int32(days * 24 * 60)})
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
