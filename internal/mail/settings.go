package mail

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"latchkey.dev/ent"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/text"
)

// SettingsRow are the mail settings of a property as stored.
type SettingsRow = ent.MailSettings

// SettingsChange changes the mail settings of a property. Nil keeps a setting.
type SettingsChange struct {
	Host, Security, User, Password, FromAddress, FromName, ReplyTo *string
	Port                                                           *int
}

// passwordPurpose is the purpose of [keyring.Ring.Seal] for the password of a mail server.
const passwordPurpose = "mailPassword"

// SettingsOf returns the mail settings of a property, or the defaults, which have no mail server, if none are stored.
func SettingsOf(view *db.Tx, propertyID string) (*ent.MailSettings, error) {
	row, err := loadSettings(view, propertyID)
	if err == nil && row == nil {
		row = &ent.MailSettings{ID: propertyID, PropertyID: propertyID, Port: 587, Security: StartTLS}
	}
	return row, err
}

// Change stores the changed mail settings of a property and returns them. listed reports whether the operator allows a mail server in a
// private network; nil: none is allowed. A fault names every wrong setting. The password must be sent again if host, port, security or user
// change. It is deleted without a host, or if it is sent empty.
func (c SettingsChange) Change(tx *db.Tx, keys *keyring.Ring, propertyID string, listed func(host string, port int) bool) (*ent.MailSettings, error) {
	row, err := SettingsOf(tx, propertyID)
	if err != nil {
		return nil, err
	}
	former := *row
	set := func(to *string, from *string) {
		if from != nil {
			*to = strings.TrimSpace(*from)
		}
	}
	set(&row.Host, c.Host)
	set(&row.Security, c.Security)
	set(&row.User, c.User)
	set(&row.FromAddress, c.FromAddress)
	set(&row.FromName, c.FromName)
	set(&row.ReplyTo, c.ReplyTo)
	if c.Port != nil {
		row.Port = *c.Port
	}
	row.Host = strings.ToLower(row.Host)
	wrong := problems(row, row.Host != "" && listed != nil && listed(row.Host, row.Port))
	if c.Password == nil && len(row.Password) > 0 && row.Host != "" && sendsElsewhere(former, *row) {
		wrong = append(wrong, fault.Field{Path: "password", Reason: fault.Required, Message: "is required again if host, port, security or user change: the stored password belongs to the former mail server"})
	}
	if len(wrong) > 0 {
		return nil, fault.Fields(wrong...)
	}
	switch {
	case row.Host == "" || c.Password != nil && *c.Password == "":
		row.Password = nil
	case c.Password != nil:
		if row.Password, err = keys.Seal(tx.Context(), propertyID, passwordPurpose, []byte(*c.Password)); err != nil {
			return nil, fmt.Errorf("seal the password of the mail server: %w", err)
		}
	}
	return row, store(tx, propertyID, row)
}

// sendsElsewhere reports whether a change would send the stored password to another server or user, or over a connection with other
// security.
func sendsElsewhere(former, row ent.MailSettings) bool {
	return former.Host != row.Host || former.Port != row.Port || former.Security != row.Security || former.User != row.User
}

// store creates or replaces the mail settings of a property.
func store(tx *db.Tx, propertyID string, row *ent.MailSettings) error {
	former, err := loadSettings(tx, propertyID)
	if err != nil {
		return err
	}
	if former == nil {
		err = tx.MailSettings.Create().SetID(propertyID).SetPropertyID(propertyID).SetHost(row.Host).SetPort(row.Port).SetSecurity(row.Security).SetUser(row.User).
			SetPassword(row.Password).SetFromAddress(row.FromAddress).SetFromName(row.FromName).SetReplyTo(row.ReplyTo).SetCreatedAt(tx.Now()).Exec(tx.Context())
	} else {
		update := former.Update().SetHost(row.Host).SetPort(row.Port).SetSecurity(row.Security).SetUser(row.User).
			SetFromAddress(row.FromAddress).SetFromName(row.FromName).SetReplyTo(row.ReplyTo)
		if row.Password == nil {
			update.ClearPassword()
		} else {
			update.SetPassword(row.Password)
		}
		err = update.Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("store the mail settings: %w", err)
	}
	return nil
}

// problems returns every wrong setting. listed means that the operator allows the host although it is in a private network. The API has
// checked that the port is in range and that Security is one of its values.
func problems(row *ent.MailSettings, listed bool) (wrong []fault.Field) {
	add := func(path string, r fault.Reason, text string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: r, Message: text})
	}
	if strings.ContainsAny(row.Host, " /@\t\r\n") {
		add("host", fault.BadFormat, "must be a host name such as smtp.example.com")
	}
	if isPrivate(row.Host) && !listed {
		add("host", fault.WrongValue, "is in a private network: the operator of the server must list it with --mail-allow")
	}
	if row.Security == NoTLS && row.Host != "" && !(config.IsLoopback(row.Host) && listed) {
		add("security", fault.WrongValue, "must be starttls or tls: only a mail server on this machine that --mail-allow lists may be used without encryption")
	}
	for _, f := range []struct{ path, address string }{{"fromAddress", row.FromAddress}, {"replyTo", row.ReplyTo}} {
		if f.address != "" && !text.IsAddress(f.address) {
			add(f.path, fault.BadFormat, "must be an email address such as desk@example.com")
		}
	}
	if row.Host != "" && row.FromAddress == "" {
		add("fromAddress", fault.Required, "is required with a mail server")
	}
	return wrong
}

// isPrivate reports whether a host is in a private network, as far as known without DNS. The address is checked again when a connection is
// made.
func isPrivate(host string) bool {
	if config.IsLoopback(host) {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && (addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsUnspecified())
}

// ServerOf returns the mail server of a property, without Dial, which the caller must set. Its Host is empty if mails go to the mailbox.
// The sender's name is the property's unless one is set.
func ServerOf(ctx context.Context, keys *keyring.Ring, row *ent.MailSettings, propertyName string) (Server, error) {
	s := Server{Host: row.Host, Port: row.Port, Security: row.Security, User: row.User, FromAddress: row.FromAddress, FromName: row.FromName, ReplyTo: row.ReplyTo}
	if s.FromName == "" {
		s.FromName = propertyName
	}
	if len(row.Password) > 0 {
		raw, err := keys.Open(ctx, row.PropertyID, passwordPurpose, row.Password)
		if err != nil {
			return Server{}, fmt.Errorf("open the password of the mail server: %w", err)
		}
		s.Password = string(raw)
	}
	return s, nil
}
