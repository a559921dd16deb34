import { expect, it } from '@jest/globals';
import { afterQuietHours, delayOf, notifyOf } from '../../../../apps/approvals/channels/schedule.ts';

const NIGHT = { from: '22:00', until: '07:00', timeZone: 'UTC' };
const after = (at: string, timeZone: string, hours = NIGHT) =>
  new Date(afterQuietHours(Date.parse(at), hours, timeZone)).toISOString();

it('waits until the quiet hours of the person end, before and after midnight', () => {
  expect(after('2026-11-26T21:59:59Z', 'UTC')).toBe('2026-11-26T21:59:59.000Z');
  expect(after('2026-11-26T22:00:00Z', 'UTC')).toBe('2026-11-27T07:00:00.000Z');
  expect(after('2026-11-26T06:59:59.999Z', 'UTC')).toBe('2026-11-26T07:00:00.000Z');
  expect(after('2026-11-26T07:00:00Z', 'UTC')).toBe('2026-11-26T07:00:00.000Z');
  expect(after('2026-11-26T18:00:00Z', 'Asia/Tokyo')).toBe('2026-11-26T22:00:00.000Z');
});

it('waits until the right hour in nights when clocks change', () => {
  expect(after('2026-03-28T22:30:00Z', 'Europe/Zurich')).toBe('2026-03-29T05:00:00.000Z');
  expect(after('2026-10-24T22:30:00Z', 'Europe/Zurich')).toBe('2026-10-25T06:00:00.000Z');
});

it('takes hours within a day', () => {
  const noon = { from: '12:00', until: '13:00', timeZone: 'UTC' };
  expect(after('2026-11-26T12:30:00Z', 'UTC', noon)).toBe('2026-11-26T13:00:00.000Z');
  expect(after('2026-11-26T23:30:00Z', 'UTC', noon)).toBe('2026-11-26T23:30:00.000Z');
});

it('shows only arguments that each template of a request shows, and no argument if one is not listed', () => {
  const notify = (names: string[], urgent = false) => ({ notify: { urgent, arguments: names } });
  const templates = { one: notify(['path', 'to']), other: notify(['to'], true) };
  const config = { approvals: { templates } } as never;
  expect(notifyOf(config, 'one')).toEqual({ urgent: false, arguments: ['path', 'to'] });
  expect(notifyOf(config, undefined)).toEqual({ urgent: false, arguments: [] });
  expect(notifyOf(config, 'missing')).toEqual({ urgent: false, arguments: [] });
});

it('takes the delay of the template, else that of the channel, and leaves out channels that the template does not name', () => {
  const settings = { email: { afterSeconds: 600 } } as never;
  const notify = { urgent: false, arguments: [] };
  expect(delayOf('email', notify, settings)).toBe(600_000);
  expect(delayOf('email', { ...notify, channels: { email: 5 } }, settings)).toBe(5_000);
  expect(delayOf('email', { ...notify, channels: {} }, settings)).toBeUndefined();
});
