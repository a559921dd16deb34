import { pino } from 'pino';
import { serveGateway } from '../../apps/gateway/main.ts';
import { parseConfig, type Config } from '../../apps/shared/config/config.ts';
import { followed, unchanging } from '../../apps/shared/config/live.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import type { Running } from '../../apps/shared/lifecycle.ts';
import { CALLBACK_SECRET, FakeWorld } from './gateway-world.ts';
import type { Clock } from '../../apps/shared/clock.ts';
import { PATIENT_FACTOR, systemTime } from './time.ts';

interface Settings extends Partial<Config['gateway']> {
  readonly tools?: Readonly<Record<string, object>>;
  readonly mcpServers?: Readonly<Record<string, object>>;
  readonly identity?: object;
  readonly addresses?: object;
  readonly signature?: object;
  /** Default: the time of this machine. */
  readonly clock?: Clock;
}

/** The real gateway on a free port, over fake ports. */
export class GatewayUnderTest {
  readonly world = new FakeWorld();
  /** Every text the gateway logged. */
  readonly logged: string[] = [];
  readonly #settings: Settings;
  #inForce: Config | undefined;
  #raw: object = {};
  #running: Running | undefined;
  #port: number | undefined;

  constructor(settings: Settings = {}) {
    this.#settings = settings;
  }

  get url(): string {
    return this.#inForce?.urls.gateway ?? 'not started';
  }
  get mcpUrl(): string {
    return this.#inForce?.urls.mcp ?? 'not started';
  }
  async start(): Promise<void> {
    const { clock, ...sections } = this.#settings;
    const { tools = {}, mcpServers = {}, identity = {}, addresses = {}, signature = {}, ...settings } = sections;
    this.#port ??= await freePort();
    // Held calls wait in the tests about that.
    const gateway = { port: this.#port, pollIntervalMs: 250, waitSeconds: 0, ...settings };
    const raw = { timeLimitFactor: PATIENT_FACTOR, gateway, tools, mcpServers, identity, addresses, signature };
    this.#raw = raw;
    const live = unchanging(this.change({}));
    const inForce = () => this.#inForce ?? live.config;
    const config = followed(inForce);
    const log = pino({ level: 'trace' }, { write: (line: string) => void this.logged.push(line) });
    this.#running = await serveGateway(
      config,
      { callbackSecret: CALLBACK_SECRET },
      {
        ...systemTime,
        ...(clock && { clock }),
        ...this.world,
        ...this.world.input.ports,
        ...{ log, live: { ...live, config, inForce } },
      },
    );
  }

  /** Puts a configuration in force that differs in these settings. */
  change(settings: Pick<Settings, 'tools' | 'mcpServers'>): Config {
    return (this.#inForce = parseConfig({ ...this.#raw, ...settings }, { baseDir: '/', stateDir: '/' }));
  }

  /** The state before any request: every port gives its default answer. */
  reset(): void {
    this.world.reset();
    this.logged.length = 0;
  }

  /** Can be started again, on the same port. */
  async stop(): Promise<void> {
    await this.#running?.stop();
  }
}
