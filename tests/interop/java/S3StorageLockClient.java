package org.apache.hudi.aws.transaction.lock;

import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.hudi.client.transaction.lock.StorageLockClient;
import org.apache.hudi.client.transaction.lock.models.LockGetResult;
import org.apache.hudi.client.transaction.lock.models.LockUpsertResult;
import org.apache.hudi.client.transaction.lock.models.StorageLockData;
import org.apache.hudi.client.transaction.lock.models.StorageLockFile;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.Pair;

/**
 * What Hudi's provider wants of S3, by plain HTTP to a server that checks no signature; Hudi's own, of
 * this name, is in a bundle that is not published.
 */
public class S3StorageLockClient implements StorageLockClient {
  public static final String ENDPOINT = "test.endpoint";

  private final HttpClient http = HttpClient.newHttpClient();
  private final String endpoint;
  private final String lockFile;

  public S3StorageLockClient(String owner, String lockFile, Properties options) {
    this.endpoint = options.getProperty(ENDPOINT);
    this.lockFile = lockFile;
  }

  @Override
  public Pair<LockUpsertResult, Option<StorageLockFile>> tryUpsertLockFile(
      StorageLockData data, Option<StorageLockFile> previous) {
    HttpRequest.Builder request = request(lockFile);
    if (previous.isPresent()) {
      request.header("If-Match", previous.get().getVersionId());
    } else {
      request.header("If-None-Match", "*");
    }
    HttpResponse<byte[]> answer =
        send(request.PUT(BodyPublishers.ofByteArray(StorageLockFile.toByteArray(data))));
    switch (answer.statusCode()) {
      case 200:
        return Pair.of(
            LockUpsertResult.SUCCESS, Option.of(new StorageLockFile(data, tag(answer))));
      case 412:
        return Pair.of(LockUpsertResult.ACQUIRED_BY_OTHERS, Option.empty());
      default:
        return Pair.of(LockUpsertResult.UNKNOWN_ERROR, Option.empty());
    }
  }

  @Override
  public Pair<LockGetResult, Option<StorageLockFile>> readCurrentLockFile() {
    HttpResponse<byte[]> answer = send(request(lockFile).GET());
    switch (answer.statusCode()) {
      case 200:
        ByteArrayInputStream body = new ByteArrayInputStream(answer.body());
        return Pair.of(
            LockGetResult.SUCCESS,
            Option.of(StorageLockFile.createFromStream(body, tag(answer))));
      case 404:
        return Pair.of(LockGetResult.NOT_EXISTS, Option.empty());
      default:
        return Pair.of(LockGetResult.UNKNOWN_ERROR, Option.empty());
    }
  }

  @Override
  public Option<String> readObject(String path, boolean looksFirst) {
    HttpResponse<byte[]> answer = send(request(path).GET());
    return answer.statusCode() == 200
        ? Option.of(new String(answer.body(), StandardCharsets.UTF_8))
        : Option.empty();
  }

  @Override
  public boolean writeObject(String path, String text) {
    return send(request(path).PUT(BodyPublishers.ofString(text))).statusCode() == 200;
  }

  @Override
  public void close() {}

  private HttpRequest.Builder request(String uri) {
    // Without these the server takes no body of a stranger.
    return HttpRequest.newBuilder(URI.create(endpoint + "/" + uri.split("://", 2)[1]))
        .header(
            "Authorization",
            "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, "
                + "SignedHeaders=host, Signature=0")
        .header("Content-Type", "application/octet-stream");
  }

  private HttpResponse<byte[]> send(HttpRequest.Builder request) {
    try {
      return http.send(request.build(), BodyHandlers.ofByteArray());
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  private static String tag(HttpResponse<byte[]> answer) {
    return answer.headers().firstValue("ETag").orElseThrow();
  }
}
