import {
  SERVER_INFO_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
  type RequestId,
  type Result,
} from '@modelcontextprotocol/server';
import { SERVER_INFO, TASK_NOTIFICATION } from './identifiers.ts';

/** The first message of a subscription: what of the filter is served. @see LISTEN-002 */
export function renderAcknowledgement(id: RequestId, notifications: Readonly<Record<string, unknown>>) {
  return notification(id, 'notifications/subscriptions/acknowledged', { notifications });
}

/** A task as `tasks/get` shows it at this moment, without the mark of a result. @see SEP-2663, Notifications; TASK-074 */
export function renderTaskNotification(id: RequestId, { resultType: _resultType, ...task }: Result) {
  return notification(id, TASK_NOTIFICATION, task);
}

/** The answer that ends a subscription from our side. @see LISTEN-006 */
export function renderSubscriptionEnd(id: RequestId) {
  const _meta = { [SUBSCRIPTION_ID_META_KEY]: id, [SERVER_INFO_META_KEY]: SERVER_INFO };
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } };
}

function notification(id: RequestId, method: string, params: Readonly<Record<string, unknown>>) {
  const meta = params['_meta'] as Readonly<Record<string, unknown>> | undefined;
  return { jsonrpc: '2.0', method, params: { ...params, _meta: { ...meta, [SUBSCRIPTION_ID_META_KEY]: id } } };
}
