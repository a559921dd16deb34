import { createMcpHandler } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { EnsureSubmitted, GatedCalls, PolicyDecisionPoint } from '../../workflows/domain/ports.ts';
import type { UpstreamItems, Upstreams } from '../../workflows/domain/upstream-ports.ts';
import type { UpstreamRelay } from '../../workflows/domain/relay-port.ts';
import { CALLBACK_PATH, type Config } from '../shared/config/config.ts';
import type { Timing } from '../shared/limits.ts';
import { createArgumentCheck } from '../shared/schemas/schema-check.ts';
import { createAuthorize } from './coaz/authorize.ts';
import { createMethodGate } from './coaz/method-gate.ts';
import { createQuestions } from './coaz/questions.ts';
import { createEnforcement, type EnforcementDeps } from './enforce.ts';
import { createReadEnforcement } from './enforce-read.ts';
import { createFront, type Front } from './front.ts';
import { guard } from './guard.ts';
import { createSubscriptions } from './listen/subscriptions.ts';
import type { TaskChanges } from './listen/task-changes.ts';
import { createPlaces } from './places.ts';
import { createRateLimit } from '../shared/http/rate-limit.ts';
import type { Redaction } from './redaction.ts';
import { createServer } from './server.ts';
import type { ReadDocument } from './signature/document.ts';
import type { Signature } from './signature/signature.ts';
import { completesTaskHeaders } from './wire/task-header.ts';

/** What the MCP endpoint is served from. */
export interface ProtocolPorts
  extends Pick<EnforcementDeps, 'requirements' | 'requestForms' | 'requestCatalogs' | 'handles'>, Timing {
  readonly pdp: PolicyDecisionPoint;
  readonly gatedCalls: GatedCalls;
  readonly taskChanges: TaskChanges;
  readonly ensureSubmitted: EnsureSubmitted;
  readonly upstreams: Upstreams & UpstreamRelay & { readonly items: UpstreamItems };
  readonly signature: Signature;
  readonly log: Logger;
}

interface Made {
  readonly redaction: Redaction;
  readonly readDocument: ReadDocument;
}

/** The MCP endpoint behind its authentication. */
export function createProtocol(config: Config, ports: ProtocolPorts & Made) {
  const { gateway, urls } = config;
  const { clock, limits, log } = ports;
  const settings = {
    callbackUrl: `${urls.gateway}${CALLBACK_PATH}`,
    executionTimeoutMs: gateway.executionTimeoutSeconds * 1_000,
    waitMs: gateway.waitSeconds * 1_000,
  };
  const places = createPlaces({ perSubject: gateway.maxStreamsPerCaller, overall: gateway.maxStreams });
  const questions = createQuestions({ config, clock, limits, log });
  const authorize = createAuthorize({ pdp: ports.pdp, questions });
  const enforce = createEnforcement({
    ...ports,
    questions,
    places,
    checkArguments: createArgumentCheck(limits),
    submissions: createRateLimit({ count: gateway.maxSubmissionsPerMinute ?? gateway.maxOpenPerCaller, seconds: 60 }),
    settings,
  });
  const enforceRead = createReadEnforcement({ ...ports, authorize, items: ports.upstreams.items, settings });
  const rendering = gateway;
  const { everyMethod, initialize, denials } = gateway.coaz;
  const ofTasks = everyMethod ? { authorize } : {};
  const served = { ...ports, ...ofTasks, enforce, enforceRead, rendering, settings, ladder: gateway };
  const handler = createMcpHandler((context) => createServer(served, context), {
    maxRequestBodySize: gateway.maxBodyBytes,
    // Limited by us, for each caller too.
    maxSubscriptions: Infinity,
    onerror: (error) => log.debug({ err: error }, 'a request was refused by the protocol layer'),
  });
  const subscriptions = createSubscriptions({ ...served, places });
  const polls = createRateLimit({ count: gateway.maxPollsPerSecond, seconds: 1 });
  const calls = createRateLimit({ count: gateway.maxCallsPerSecond, seconds: 1 });
  const gate = createMethodGate({ authorize, guarded: guard(log, denials), initializePasses: initialize === 'pass' });
  const completeTaskHeader = completesTaskHeaders(log);
  const front: Front = createFront({
    ...{ handler, subscriptions, polls, calls, completeTaskHeader },
    ...(everyMethod && { gate }),
  });
  return {
    front,
    /** Tells those who listen that lists have changed. */
    notify: handler.notify,
    endStreams: () => places.close(),
    close: () => handler.close(),
  };
}
