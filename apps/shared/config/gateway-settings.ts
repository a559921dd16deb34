import * as z from 'zod';
import { SENSITIVITIES } from '../../../workflows/domain/tools/hints.ts';
import { TASK_OWNERS } from '../../../workflows/domain/principal.ts';
import { coazSettings } from './coaz-settings.ts';
import { port, scope, seconds } from './units.ts';

/** Settings of the MCP front end, and of the gated calls that it opens. */
export const gatewaySettings = z
  .strictObject({
    port: port.default(4100),
    /** Public address; the MCP endpoint is `/mcp` below it. Default: `http://host:port`. */
    url: z.url().optional(),
    /** Scopes that an access token needs for whatever it is used. */
    scopes: z.array(scope).default(['mcp']),
    /** What `tasks/get` tells the client to wait between two polls. */
    pollIntervalMs: z.number().int().min(100).default(1_000),
    /** How long a gated call may wait for a resolution when the access request service names no earlier deadline. */
    requestTtlSeconds: seconds.default(7 * 86_400),
    /** How long a result can be read with `tasks/get` after the gated call ended. */
    resultRetentionSeconds: seconds.default(7 * 86_400),
    /**
     * How long after its end an approved call, whose caller was not told how it ended, answers an identical call of that caller: a client
     * that gave up waiting and repeats its call gets the outcome. Zero: an identical call is a new one at once.
     */
    unreadOutcomeSeconds: z.number().int().min(0).max(86_400).default(600),
    /** Limit on one tool execution, counted from the claim. After it, a missing result is `outcome_unknown`. */
    executionTimeoutSeconds: seconds.default(60),
    /**
     * Whose a gated call is, its task and its request reference: the subject's at its issuer, through one client alone or through any. A host
     * that registers anew has another client id, so with the first its earlier calls are out of its sight.
     */
    taskOwner: z.enum(TASK_OWNERS).default('subject-and-client'),
    /** Open gated calls that one client of a subject may have; more are refused, not queued. */
    maxOpenPerCaller: z.number().int().positive().default(100),
    /** Open gated calls that one subject may have, through all its clients. Default: as many as `maxOpenPerCaller`. */
    maxOpenPerSubject: z.number().int().positive().optional(),
    /**
     * Results of tools that are marked as more sensitive than this are withheld from clients, and with them from the model.
     * Default: no result is withheld.
     */
    redactAbove: z.enum(SENSITIVITIES).optional(),
    /**
     * Access requests that this process submits for one subject in a minute, through all its clients; the calls behind more are
     * refused. Default: as many as `maxOpenPerCaller`.
     */
    maxSubmissionsPerMinute: z.number().int().positive().optional(),
    /**
     * Requests about tasks that this process takes from one subject in a second, each task of a stream counted; more are
     * refused. The default is twice what it takes to poll 100 tasks as `pollIntervalMs` says.
     */
    maxPollsPerSecond: z.number().int().positive().default(200),
    /** Calls of tools that this process takes from one subject in a second, whatever becomes of them; more are refused. */
    maxCallsPerSecond: z.number().int().positive().default(500),
    /** Open streams (`subscriptions/listen`), and calls that wait, that one subject may have in this process. More streams are refused; more calls do not wait. */
    maxStreamsPerCaller: z.number().int().positive().default(16),
    /** Open streams and calls that wait, of all callers in this process. */
    maxStreams: z.number().int().positive().default(1_000),
    /** Whether denials say in a form for programs (SEP-2643) what kind they are. The text says it in any case. */
    structuredDenials: z.boolean().default(true),
    /** Whether the approval extension and its disposition go by their first names (`net.openid.authzen/…`) as well. */
    approvalAlias: z.boolean().default(true),
    /**
     * How long a call that needs an approval waits for its result when the client declares no tasks. Zero: it does not wait,
     * and nothing is requested. Clients commonly give a call up after 60 seconds.
     */
    waitSeconds: z.number().int().min(0).max(45).default(0),
    /**
     * Whether clients of the present revision that declare no tasks get the error -32021 for a call that needs an approval,
     * instead of a wait or an answer in words: for every tool, or for those that are named.
     */
    demandTasks: z.union([z.boolean(), z.array(z.string().min(1))]).default(false),
    /** Whether the plain tools `request_access` and `get_request_status` are offered, for clients without tasks. */
    requestTools: z.boolean().default(true),
    coaz: coazSettings,
    /** Largest request body accepted, in bytes. */
    maxBodyBytes: z
      .number()
      .int()
      .positive()
      .default(4 * 1024 * 1024),
  })
  .prefault({});
