package dbtest

// The reasons why a function may run a statement that names no property.
const (
	sweep   = "a sweep over all properties, which changes the rows that it found by their ids"
	session = "the bridge's certificate names the bridge, and each row of it is changed under its epoch"
	loaded  = "the row was loaded under its property in this change"
	secret  = "the caller proves who they are by a secret, and the row that it leads to names the property"
	onceKey = "the key begins with an id of the property"
)

// acrossProperties lists the functions that may run statements without a property, with the reason. Think twice before you
// add one.
var acrossProperties = map[string]string{
	"guest.Authenticate":                  secret,
	"kiosk.Authenticate":                  secret,
	"checkin.Due":                         sweep,
	"access/code.BackupProperties":        sweep,
	"access/code.ReconcileDue":            sweep,
	"access.Expire":                       sweep,
	"access.Reconciler.deleteExpiredPINs": sweep,
	"access.Reconciler.notifyLateCodes":   sweep,
	"event.Append":                        "the subject is an id, and only its numbers are read",
	"event.Forget":                        sweep,
	"event.Unpositioned":                  sweep,
	"event.execExactly":                   sweep,
	"event.Subscribe":                     sweep,
	"event.RemoveUnknown":                 sweep,
	"event.lastPosition":                  sweep,
	"event.After":                         sweep,
	"lock.ClearSlot":                      loaded,
	"lock.CloseSession":                   session,
	"bridge.Enrol":                        secret,
	"lock.StoreEvents":                    session,
	"lock.LatestGenerations":              session,
	"lock.CheckBridgeLinks":               sweep,
	"lock.CheckLockLinks":                 sweep,
	"bridge.StoreInstalledKeys":           session,
	"lock.AssignSlot":                     loaded,
	"bridge.RevokedSince":                 session,
	"bridge.CurrentEpoch":                 session,
	"bridge.Missing":                      session,
	"property.DeleteUnindexed":            "it reads the first and last id of the table",
	"lock.MarkAllBridgesOffline":          sweep,
	"lock.EndAbandonedCommands":           sweep,
	"lock.MarkSilentBridgesOffline":       sweep,
	"lock.MarkDrainedBridgesLost":         sweep,
	"lock.RecordHeartbeats":               session,
	"bridge.InSession":                    session,
	"lock.setOfflineReason":               session,
	"lock.storeForeignSlot":               loaded,
	"lock.MarkLinksLost":                  sweep,
	"partner.Connected":                   "the operator lists the apps of all properties",
	"mobilekey.BehindBridges":             sweep,
	"mobilekey.Get":                       secret,
	"mobilekey.Sweep":                     sweep,
	"mobilekey.findLink":                  secret,
	"mobilekey.sweepLinks":                sweep,
	"reservation.EnqueueDueArrivals":      sweep,
	"reservation.DeleteTombstones":        sweep,
	"reservation.Service.DueStays":        sweep,
	"reservation.DeleteChanges":           sweep,
	"reservation.Service.PlanDue":         sweep,
	"reservation.LastChange":              sweep,
	"reservation.Superseded":              sweep,
	"reservation/readiness.CheckDue":      sweep,
	"reservation/readiness.RecheckSoon":   sweep,
	"reservation/readiness.judgeAll":      sweep,
	"server.(*installation).queryMetric":  "figures count rows of the whole installation, and name no property",
	"space.Due":                           sweep,
	"space.ForgetConflicts":               sweep,
	"notice.Forget":                       sweep,
	"notice.IsOpen":                       onceKey,
	"notice.Settle":                       onceKey,
	"credential.Find":                     secret,
	"credential.List":                     "the operator's tokens belong to no property",
	"credential.Revoke":                   "the operator's tokens belong to no property",
	"credential.Sweep":                    sweep,
	"worker.deleteExpiredAnswers":         sweep,

	"api/idem.(*Memory).loadAnswer":  secret,
	"api/idem.(*Memory).storeAnswer": secret,
}
