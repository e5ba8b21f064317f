package bench

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/server"
)

// Addresses are the addresses of a server's listeners for gRPC and for bridges, and the path of the operators' socket.
type Addresses struct{ GRPC, Bridge, Socket string }

// serverPart runs the product's server without a property.
type serverPart struct {
	process
	server *server.Server
	log    *os.File
	stop   context.CancelFunc
	run    sync.WaitGroup
	failed error
}

// methods implements role: it returns the calls that the coordinating process can make to this process.
func (p *serverPart) methods() methods {
	return p.process.methods().with(methods{"Start": decodeArgs(p.Start), "StartNode": decodeArgs(p.StartNode), "Stop": decodeArgs(p.Stop)})
}

// Start starts a server whose data are below dir, a new directory or that of an earlier server, and returns its addresses.
func (p *serverPart) Start(dir string, out *Addresses) error {
	return p.start(dir, serverConfig(dir), out)
}

// Node has the settings of one of several servers on one database. Key is the path of the key file.
type Node struct {
	Dir, Database, NATS, Key string
	Drain                    time.Duration
}

// StartNode starts the server as one of several on a database, and returns its addresses.
func (p *serverPart) StartNode(n Node, out *Addresses) error {
	c := serverConfig(n.Dir)
	c.Database, c.NATS.URL, c.KeyFile, c.Drain = n.Database, n.NATS, n.Key, n.Drain
	return p.start(n.Dir, c, out)
}

// Stop stops the server as SIGTERM does and waits for its end.
func (p *serverPart) Stop(None, *None) error {
	p.stop()
	p.run.Wait()
	return errors.Join(p.failed, p.server.Close())
}

// start starts a server with a configuration and returns its addresses. It logs to a new file in dir. The server then runs until Stop or
// Close.
func (p *serverPart) start(dir string, c config.Config, out *Addresses) error {
	o, log, err := serverOptions(dir)
	if err != nil {
		return err
	}
	p.log = log
	if p.server, err = server.New(context.Background(), c, o); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.run.Go(func() { p.failed = p.server.Run(ctx) })
	*out = Addresses{GRPC: p.server.GRPCAddr(), Bridge: p.server.BridgeAddr(), Socket: p.server.SocketPath()}
	return nil
}

// Close implements role: it stops the server and closes its log.
func (p *serverPart) Close() (err error) {
	if p.stop != nil {
		p.stop()
		p.run.Wait()
		err = errors.Join(p.failed, p.server.Close())
	}
	if p.log != nil {
		err = errors.Join(err, p.log.Close())
	}
	return err
}
