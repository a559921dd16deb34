/** The handle of an accepted submission: where its access request is read and cancelled. @see ARAP, task handle */
export interface AccessRequestHandle {
  readonly accessRequestId: string;
  readonly statusEndpoint: string;
  readonly cancelEndpoint?: string;
  /** When the access request service gives the request up. */
  readonly expiresAt?: string;
  /** The request had ended already when its handle was given out: it is read at once, and not waited for (ARAP-TSK-11). */
  readonly isSettled?: true;
}

/** One attempt to ask the access request service. Written before the service is contacted; key and body never change. */
export interface Submission {
  readonly gatedCallId: string;
  readonly generation: number;
  readonly idempotencyKey: string;
  readonly endpoint: string;
  /** The exact bytes of the request body. */
  readonly body: string;
  /** Absent until the service has answered. */
  readonly handle?: AccessRequestHandle;
}

/** What whoever won the right to contact the access request service sends, unchanged however often it is sent. */
export type TakenSubmission = Pick<Submission, 'generation' | 'endpoint' | 'idempotencyKey' | 'body'>;

/** What is to be sent, before it is recorded. */
export type NewSubmission = Omit<TakenSubmission, 'generation'>;
