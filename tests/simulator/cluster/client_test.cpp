#include "simulator/cluster/client.hpp"

#include <gtest/gtest.h>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

RequestRecord arriving(Nanoseconds time) {
  return {.request = {.arrival = time, .input_tokens = 1, .output_tokens = 1}};
}

RequestRecord following(RequestId id, Nanoseconds pause) {
  RequestRecord record = arriving(pause);
  record.request.follows = id;
  return record;
}

TEST(Client, SendsWhatWaitedForAPlaceWhenOneIsFreed) {
  std::vector<RequestRecord> records = {arriving(1), arriving(2), arriving(3)};
  Client client(records, 1);
  EXPECT_EQ(client.next_send(), 1);
  EXPECT_EQ(client.send(1), 0);
  EXPECT_EQ(client.next_send(), std::nullopt);
  EXPECT_EQ(client.send(2), std::nullopt);
  client.finished(0, 10);
  EXPECT_EQ(client.send(10), 1);
  EXPECT_EQ(records[1].sent, 10);
}

TEST(Client, CreatesARequestAPauseAfterTheOneItFollows) {
  // Request 2 follows 0 after a pause of 4: 0 ends at 10, so it is created at 14, between the
  // others, of which it is the second.
  std::vector<RequestRecord> records = {arriving(0), arriving(20), following(0, 4)};
  Client client(records, std::nullopt);
  EXPECT_EQ(client.send(0), 0);
  EXPECT_EQ(client.next_send(), 20);
  client.finished(0, 10);
  EXPECT_EQ(client.next_send(), 14);
  EXPECT_EQ(client.send(13), std::nullopt);
  EXPECT_EQ(client.send(14), 2);
  EXPECT_EQ(records[2].request.arrival, 14);
  EXPECT_EQ(client.send(20), 1);
  EXPECT_EQ(client.next_send(), std::nullopt);
}

TEST(Client, SendsWhatWasCreatedFirstWhoeverItFollows) {
  std::vector<RequestRecord> records = {arriving(0), arriving(6), following(0, 5)};
  Client client(records, 1);
  EXPECT_EQ(client.send(0), 0);
  client.finished(0, 1);  // request 2 is created at 6 as request 1 is: the lower number first
  EXPECT_EQ(client.send(6), 1);
  client.finished(1, 7);
  EXPECT_EQ(client.send(7), 2);
}

TEST(Client, AnswersARejectedRequestAtOnceAndWhatFollowsIt) {
  std::vector<RequestRecord> records = {arriving(3), following(0, 2), arriving(9)};
  records[0].rejected = true;
  EXPECT_EQ(reject_followers(records), 1);
  Client client(records, std::nullopt);
  EXPECT_EQ(client.send(3), std::nullopt);
  EXPECT_EQ(client.next_send(), 5);
  EXPECT_EQ(client.send(5), std::nullopt);
  EXPECT_EQ(records[1].request.arrival, 5);
  EXPECT_EQ(client.send(9), 2);
}

TEST(Client, WhatFollowsALostRequestIsRejectedAllTheWay) {
  std::vector<RequestRecord> records = {arriving(0), following(0, 2), following(1, 3), arriving(1)};
  Client client(records, 1);
  EXPECT_EQ(client.send(0), 0);
  EXPECT_EQ(client.lost(0, 10), 2);
  EXPECT_TRUE(records[1].rejected);
  EXPECT_TRUE(records[2].rejected);
  EXPECT_EQ(client.send(10), 3);  // the place is free again
}

}  // namespace
}  // namespace roofcast::test
